import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** What a reverse replays, and what it replays it to. */
export const reverseHazards: readonly Hazard[] = [
  {
    number: 133,
    hazard:
      'After the cut-over a shard whose clock is behind gives a user write a time below that from which a later ' +
      'reverse reads: the reverse leaves the write out',
    handling:
      'The router learns the time from the notes of all shards, and passes it on to them with a second request.',
    sabotages: [
      {
        takesOut: 'the second request',
        file: instance('cluster/cluster-time.ts'),
        symbol: 'timeBetweenWrites',
        find: '  await timeAboveAll(cluster, options);\n  return time;',
        replace: '  return time;',
        tests: [
          instanceTest(
            'cluster/times-of-shards.test.ts',
            'is below the next write of every shard, although the clock of one is behind',
          ),
        ],
      },
    ],
  },
  {
    number: 135,
    hazard:
      'A capped collection is enlarged on the source: the destination removes documents by the old limit, and never ' +
      'gets them again',
    handling: 'Where the comparison finds a lower limit on the destination, the collection is copied anew.',
    sabotages: [
      {
        takesOut: 'the copy anew',
        file: instance('ddl/judge-catalog.ts'),
        symbol: 'judgeCatalog',
        find: ', ...enlarged(now, found, ledger, pairs)]',
        replace: ']',
        tests: [
          instanceTest('ddl/judge-catalog.test.ts', 'is a copy anew of a capped collection with %s'),
          integrationTest(
            'reverse/reverse.test.ts',
            'copies a capped collection again that was enlarged since the commit',
          ),
        ],
      },
    ],
  },
  {
    number: 136,
    hazard:
      'Between the command to reverse and the swap, processes end, and users write to the former source again; or a ' +
      'shard has joined it',
    handling:
      'The leader that swaps the clusters checks once more what the command checked: no write since the commit, user ' +
      'writes blocked, the same shards. What a leader finds that another one has replaced does not count.',
    sabotages: [
      {
        takesOut: 'the check before the swap',
        file: instance('lifecycle/leader/reverse.ts'),
        symbol: 'swapAsLeader',
        find: '  await checkReverse({ ...check, committed: () => Promise.resolve(committed) });\n',
        replace: '',
        tests: [
          integrationTest(
            'reverse/reverse.test.ts',
            'does not swap the clusters once users have written to the former source after the command',
          ),
        ],
      },
      {
        takesOut: 'the check who leads, after a failure of a leader',
        file: instance('lifecycle/leader/lead.ts'),
        symbol: 'leadUnlessDeposed',
        find: 'await records.confirmLeader(leaderEpoch, signal);',
        replace: 'await Promise.resolve();',
        tests: [
          instanceTest('lifecycle/leader/reverse.test.ts', 'what a deposed leader finds against a swap fails nobody'),
        ],
      },
      {
        takesOut: 'the shards of the former source',
        file: instance('lifecycle/leader/reverse.ts'),
        symbol: 'checkReverse',
        find: '  requireShards(former.name, sourceShards, await shardsOf(runtime, former, signal));\n',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/leader/reverse-check-reverse.test.ts',
            'a shard that has joined one of the clusters, or left it, refuses a reverse',
          ),
        ],
      },
    ],
  },
  {
    number: 137,
    hazard:
      'The destination is opened by hand, or by a process that was frozen, before the time is recorded from which a ' +
      'reverse reads: the reverse leaves out what users wrote before it',
    handling: 'Until that time is recorded, the record wants user writes blocked there.',
    sabotages: [
      {
        takesOut: 'the recorded time',
        file: instance('lifecycle/migration/write-blocks.ts'),
        symbol: 'wantedByPhase',
        find: 'destination: reversal?.openedAt === null };',
        replace: 'destination: false };',
        tests: [
          instanceTest(
            'lifecycle/migration/write-blocks.test.ts',
            'is the destination until the time from which a reverse reads is recorded',
          ),
        ],
      },
    ],
  },
];
