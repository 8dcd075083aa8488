// Package simulation tries moves on paper: pods put on places and taken away, machines that do not exist yet. It judges as
// kube-scheduler's filter plugins would after the same moves. Planner, reaper and preemption decide with it.
//
// It decides nothing itself: not who comes first, and not what is bought or given back.
package simulation
