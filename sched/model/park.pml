// How workers park and are notified: idle.go, parker.go, park.go, steal.go and
// the loop in worker.go. Names are those of the Go code; README.md lists them.
//
// A step, alone or in atomic{}, is one atomic operation of the Go code on what
// goroutines share, and what its goroutine then does to its own variables.

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef AWAKE
#define AWAKE WORKERS // the others wait when it begins
#endif
#ifndef EVENTS
#define EVENTS 2 // from outside, each from a goroutine of its own
#endif
#ifndef SPAWNS
#define SPAWNS 1 // tasks queued by running ones
#endif
#ifndef STUCK
#define STUCK 1 // tasks that never end
#endif

#define unparked  0
#define parked    1
#define unparking 2

#define none       WORKERS
#define maxSearch  (WORKERS / 2 > 1 -> WORKERS / 2 : 1)
#define bit_(w)    (1 << (w))
#define all        (bit_(WORKERS) - 1)
#define lowest(s)  ((s) & 1 -> 0 : ((s) & 2 -> 1 : ((s) & 4 -> 2 : 3)))
#define addSearching(n) \
	searching = searching + (n); \
	assert(searching >= 0 && searching <= maxSearch)

byte  global;          // globalQueue.len
bool  locked;          // globalQueue.mu is held by a worker that fetches
byte  queue[WORKERS];  // tasks in worker.queue and worker.batch: others take from there
byte  inbox[WORKERS];  // tasks for this worker alone
short searching;       // idleState
byte  parkedBits = all & ~(bit_(AWAKE) - 1);
byte  parker[WORKERS] = parked; // parker.state; looking comes first
bool  wake[WORKERS];   // a Wake that the driver has not delivered
bool  ready[WORKERS];  // I/O that the driver has not delivered

byte  begun;           // events
byte  spawnsLeft = SPAWNS;
byte  stuckLeft = STUCK;
byte  stuckBits;       // workers that have taken a task that never ends
short notTaken;        // tasks and I/O
#ifdef MUTANT_WAKE_NOT_KEPT
bool  polling[WORKERS];
#endif

inline claim(w) {
	do
	:: atomic { parkedBits == 0 -> w = none; break }
	:: parkedBits != 0 ->
		if
		:: atomic { searching != 0 -> w = none; break }
		:: atomic { searching == 0 -> addSearching(1) }
		fi;
		do
		:: atomic { parkedBits == 0 -> w = none; break }
		:: atomic { parkedBits != 0 -> w = lowest(parkedBits) };
			atomic {
				if
				:: parkedBits & bit_(w) -> parkedBits = parkedBits & ~bit_(w); break
				:: else
				fi
			}
		od;
		if
		:: w != none -> break
		:: else
		fi;
		atomic { addSearching(-1) };
#ifdef MUTANT_CLAIM_NO_RETRY
		break
#endif
	od
}

inline startSearch(ok) { // its loop repeats only what has had no effect
	atomic {
		if
		:: searching > 0 && 2 * (searching + 1) > WORKERS -> ok = false
		:: else -> addSearching(1); ok = true
		fi
	}
}

inline unpark(w) {
	atomic {
		was = parker[w];
#ifndef MUTANT_UNPARK_NO_SWAP
		parker[w] = unparking
#endif
	};
	if
	:: was == parked ->
#ifdef MUTANT_WAKE_NOT_KEPT
		atomic { wake[w] = polling[w]; was = unparked }
#else
		atomic { wake[w] = true; was = unparked }
#endif
	:: else
	fi
}

inline notify() {
	claim(w);
	if
	:: w != none -> unpark(w)
	:: else
	fi;
	w = 0; was = unparked
}

inline workFor(self, found) { // self none: for anybody
	atomic {
		found = (global > 0);
		w = (self == 0 -> 1 : 0)
	};
	do
	:: found || w >= WORKERS -> break
	:: else ->
		atomic {
			if
			:: queue[w] > 0 -> found = true
			:: else -> w = (w + 1 == self -> w + 2 : w + 1)
			fi
		}
	od;
	w = 0
}

inline fetch(found) { // all there are
	if
	:: atomic { global == 0 -> found = false }
	:: global > 0 ->
		atomic { !locked -> locked = true; n = global; found = (n > 0) };
#ifdef MUTANT_FETCH_GAP
		atomic { global = 0; locked = false };
		atomic { queue[_pid] = queue[_pid] + n; n = 0 }
#else
		atomic { queue[_pid] = queue[_pid] + n; n = 0 };
		atomic { global = 0; locked = false }
#endif
	fi
}

inline steal() { // one task or all: queues are too short here for half to differ from one
	w = (_pid == 0 -> 1 : 0);
	do
	:: first || w >= WORKERS -> break
	:: else ->
		atomic {
			if
			:: queue[w] > 0 ->
				if
				:: n = 1
				:: queue[w] > 1 -> n = queue[w]
				fi;
				queue[w] = queue[w] - n;
				n--;
				take()
			:: else -> w = (w + 1 == _pid -> w + 2 : w + 1)
			fi
		}
	od;
	w = 0;
	if
	:: n > 0 -> atomic { queue[_pid] = queue[_pid] + n; n = 0 }
	:: else
	fi
}

inline take() { // a task; what it will do is settled here
	first = true;
	notTaken--;
	if
	:: true
	:: spawnsLeft > 0 -> spawnsLeft--; spawns = true
	fi;
	if
	:: true
	:: stuckLeft > 0 -> stuckLeft--; stuck = true; stuckBits = stuckBits | bit_(_pid)
	fi
}

inline poll() { // Driver.Poll without a wait
	atomic {
		wake[_pid] = false;
		if
		:: ready[_pid] -> ready[_pid] = false; take()
		:: else
		fi
	}
}

inline leavePark() {
	atomic {
		if
		:: parkedBits & bit_(_pid) -> parkedBits = parkedBits & ~bit_(_pid)
		:: else -> found = search; search = true // claimed
		fi
	};
	if
	:: found ->
#ifdef MUTANT_COUNTED_TWICE
		found = false
#else
		atomic { addSearching(-1); found = false } // by itself as well
#endif
	:: else
	fi
}

active [WORKERS] proctype worker() {
	byte w, n, was, mine;
	bool search; // worker.searching
	bool first;  // worker.first: the next task to run
	bool spawns, stuck;
	bool found;

	if
	:: _pid >= AWAKE -> goto wait
	:: else
	fi;

tick:
	if // looking
	:: parker[_pid] == unparked
	:: parker[_pid] != unparked -> parker[_pid] = unparked
	fi;
	atomic { mine = inbox[_pid]; inbox[_pid] = 0 };

next: // runTasks
	if
	:: first
	:: !first && mine > 0 -> atomic { mine--; take() }
	:: !first && mine == 0 ->
		if
		:: atomic { queue[_pid] > 0 -> queue[_pid]--; take() }
		:: queue[_pid] == 0 ->
			fetch(found);
			if
			:: found -> found = false; goto next
			:: else -> goto search_
			fi
		fi
	fi;
	if
	:: search -> goto hasFound
	:: else
	fi;
	first = false;
	if
	:: spawns ->
		atomic { queue[_pid]++; notTaken++; spawns = false };
		notify()
	:: else
	fi;
	if
	:: stuck ->
end_stuck:
		false
	:: else -> goto next
	fi;

search_:
	workFor(_pid, found); // mayFind
	if
	:: !found -> goto park
	:: else -> found = false
	fi;
	if
	:: search
	:: else -> startSearch(search)
	fi;
	if
	:: search
	:: else -> goto park
	fi;
	poll();
	if
	:: first -> goto tick
	:: else
	fi;
	fetch(found); // search
	if
	:: found
	:: else -> steal()
	fi;
	if
	:: found || first
	:: else -> goto tick
	fi;

hasFound:
	atomic { search = false; addSearching(-1); found = (searching == 0) };
#ifdef MUTANT_NO_LAST_SEARCHER
	found = false;
#endif
	if
	:: found ->
		workFor(none, found);
		if
		:: found -> found = false; notify()
		:: else
		fi
	:: else
	fi;
	goto next;

park:
#ifdef MUTANT_LOOK_BEFORE_TRYPARK
	workFor(_pid, found);
#endif
	atomic { // tryPark
		if
		:: parker[_pid] == unparked -> parker[_pid] = parked
		:: else -> found = false; goto polls
		fi
	};
#ifdef MUTANT_LOOK_BEFORE_BIT
	workFor(_pid, found);
#endif
	parkedBits = parkedBits | bit_(_pid); // idleState.park
#ifndef MUTANT_LOOK_BEFORE_STOP
	if
	:: search -> atomic { search = false; addSearching(-1) }
	:: else
	fi;
#endif
	if // mustNotSleep
	:: inbox[_pid] > 0 -> found = false; goto stay
	:: inbox[_pid] == 0
	fi;
#if !defined(MUTANT_LOOK_BEFORE_TRYPARK) && !defined(MUTANT_LOOK_BEFORE_BIT) && !defined(MUTANT_NO_LOOK)
	workFor(_pid, found);
#endif
#ifdef MUTANT_LOOK_BEFORE_STOP
	if
	:: search -> atomic { search = false; addSearching(-1) }
	:: else
	fi;
#endif
	if
	:: found -> found = false; startSearch(search)
	:: else
	fi;
	if
	:: search -> goto stay
	:: else
	fi;

wait:
	if
	:: parker[_pid] != parked -> poll(); goto leave
	:: parker[_pid] == parked
	fi;
#ifdef MUTANT_WAKE_NOT_KEPT
	polling[_pid] = true;
#endif
end_wait:
	atomic { // Poll
		wake[_pid] || ready[_pid] ->
		wake[_pid] = false;
		if
		:: ready[_pid] -> ready[_pid] = false; take()
		:: else
		fi;
#ifdef MUTANT_WAKE_NOT_KEPT
		polling[_pid] = false
#endif
	};
	if
	:: first
	:: else -> goto wait
	fi;

leave:
	leavePark();
	goto tick;

stay: // must not sleep
	leavePark();
polls:
	poll();
	goto tick
}

active [EVENTS] proctype outside() { // one after the other, to halve the states
	byte w, was;
	if
	:: atomic { begun == _pid - WORKERS && !locked -> begun++; global++; notTaken++ };
		notify()
#ifdef PRIVATE // or something for the first worker or the last
	:: atomic { begun == _pid - WORKERS -> begun++; notTaken++;
			if
			:: w = 0
			:: w = WORKERS - 1
			fi;
			if
			:: inbox[w]++
			:: !ready[w] -> ready[w] = true; w = none
			fi
		};
		if
		:: w != none -> unpark(w)
		:: else
		fi;
		w = 0; was = unparked
#endif
	fi
}

// Nothing can happen any more: every worker waits, or is stuck in a task.
active proctype atRest() {
	byte w;
	timeout ->
	atomic {
		assert(searching == 0);
		assert(parkedBits == (all & ~stuckBits));
		if
		:: parkedBits == 0
		:: else -> // whoever waits could have run it
			assert(global == 0);
			do
			:: w < WORKERS ->
				assert(queue[w] == 0);
				assert(stuckBits & bit_(w) || !inbox[w] && !ready[w]);
				w++
			:: else -> break
			od
		fi;
		assert(stuckBits || notTaken == 0)
	}
}
