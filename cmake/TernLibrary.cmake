# The libraries. Each has a shared and a static form, and contains the objects of tern_base.
#
# tern_library_objects(NAME SOURCE...): the objects of a library.
# tern_library(NAME OBJECTS): the targets NAME and NAME_static. Other projects, and this build too,
#   know them as tern::tern and tern::tern_static, and those of tern_mailbox, say, as tern::mailbox
#   and tern::mailbox_static.

function(tern_library_objects name)
    add_library(${name} OBJECT ${ARGN})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${name} PUBLIC tern_compiler)
endfunction()

function(tern_library name objects)
    add_library(${name} SHARED $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:tern_base>)
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${TERN_SOVERSION}
                          OUTPUT_NAME ${name}${TERN_SUFFIX})
    if(NOT TERN_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()
    # Each exported function has a second name, ptern_ in place of tern_, by which a tool that defines the
    # first one calls it. tern's own calls go to its own functions, so the tool sees the program's alone.
    add_custom_command(TARGET ${name} PRE_LINK COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/ptern.sh
                       ${CMAKE_READELF} ${PROJECT_BINARY_DIR}/${name}.ptern
                       $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:tern_base>
                       COMMAND_EXPAND_LISTS VERBATIM)
    target_link_options(${name} PRIVATE -Wl,@${PROJECT_BINARY_DIR}/${name}.ptern
                        -Wl,-Bsymbolic-functions)
    add_library(${name}_static STATIC $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:tern_base>)
    set_target_properties(${name}_static PROPERTIES OUTPUT_NAME ${name}${TERN_SUFFIX})

    foreach(library ${name} ${name}_static)
        set(short ${library})
        if(NOT name STREQUAL tern)
            string(REGEX REPLACE "^tern_" "" short ${library})
        endif()
        set_target_properties(${library} PROPERTIES EXPORT_NAME ${short})
        add_library(tern::${short} ALIAS ${library})
        target_include_directories(${library} PUBLIC
                                   $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                   $<INSTALL_INTERFACE:${TERN_INSTALL_INCLUDEDIR}>)
        target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:tern_compiler>)
    endforeach()
endfunction()
