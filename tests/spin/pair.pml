/*
 * One client and one server of a slot (include/tern/mailbox.h, the state machine; paper 002, 7.1),
 * for ever: the packet is one side's at a time, each call is worked on once and gets its own
 * answer, and both sides go on and on. -DEARLY: the server answers before it works.
 */

bit client_flag, server_flag;
byte packet, inside;

#define ENTER inside++; assert(inside == 1)
#define LEAVE inside--

active proctype client() {
    byte number = 1;
    do
    :: client_flag == server_flag && client_flag == 0 ->
       ENTER; assert(packet == 0); packet = number; LEAVE;
       client_flag = 1
    :: client_flag == server_flag && client_flag == 1 ->
       ENTER; assert(packet == number + 10); LEAVE;
       number = number % 3 + 1;
progress_call:
       client_flag = 0
    od
}

active proctype server() {
    do
    :: client_flag != server_flag && server_flag == 0 ->
#ifdef EARLY
       server_flag = 1;
#endif
       ENTER; packet = packet + 10; LEAVE;
       server_flag = 1
    :: client_flag != server_flag && server_flag == 1 ->
       ENTER; packet = 0; LEAVE;
       server_flag = 0
    od
}
