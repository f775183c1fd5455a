#!/bin/sh
# Portcullis: every action of this client is reviewed before it runs, and its result afterwards.
# `portcullis install` wrote this file, `portcullis uninstall` removes it, and `portcullis doctor`
# compares its text: do not edit it.
#
# The client runs the action when a hook fails, and ignores exit codes. So only a complete answer
# is passed on, and everything else ends the run.
# HOOK = {"command":"portcullis","args":["hook","cline"]}
answer=$(portcullis hook cline)
case $?:$answer in
0:{*} | 2:{*}) printf '%s\n' "$answer" ;;
*) printf '%s\n' '{"cancel":true,"errorMessage":"Portcullis gave no answer, so this is refused. A person can find out why with `portcullis doctor`."}' ;;
esac
