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
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR})
    if(NOT TERN_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()
    add_library(${name}_static STATIC $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:tern_base>)
    set_target_properties(${name}_static PROPERTIES OUTPUT_NAME ${name})

    foreach(library ${name} ${name}_static)
        set(short ${library})
        if(NOT name STREQUAL tern)
            string(REGEX REPLACE "^tern_" "" short ${library})
        endif()
        set_target_properties(${library} PROPERTIES EXPORT_NAME ${short})
        add_library(tern::${short} ALIAS ${library})
        target_include_directories(${library} PUBLIC
                                   $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
        target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:tern_compiler>)
    endforeach()
endfunction()
