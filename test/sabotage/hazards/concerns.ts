import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** What a minority of a set knows, and what a cluster's defaults decide. */
export const concernHazards: readonly Hazard[] = [
  {
    number: 160,
    hazard:
      'The primary of the source stores the block of user writes, and no other member gets it: after a failover the ' +
      'source takes writes that nobody looks for',
    handling:
      'A replica set is asked for its stored block at linearizable. The leader looks again before the commit time is ' +
      'sealed and after the look for late writes; a block that is gone is set again, and the look is repeated.',
    sabotages: [
      {
        takesOut: 'the majority that confirms a block',
        file: instance('cluster/write-block.ts'),
        symbol: 'blockOfReplicaSet',
        find: "'linearizable', limited",
        replace: "'majority', limited",
        tests: [
          instanceTest(
            'lifecycle/migration/write-blocks.test.ts',
            'counts on a replica set only when the member that leads has confirmed it with a majority',
          ),
        ],
      },
      {
        takesOut: 'the look before the seal',
        file: instance('lifecycle/leader/commit-rounds.ts'),
        symbol: 'drainRounds',
        find: 'if (!(await keptClosed(deps, signal))) continue;',
        replace: 'void keptClosed;',
        tests: [
          instanceTest(
            'lifecycle/leader/commit-rounds.test.ts',
            'is a later one when the block of user writes was gone, which is set again before',
          ),
        ],
      },
      {
        takesOut: 'the look before the opening',
        file: instance('lifecycle/leader/commit.ts'),
        symbol: 'commit',
        find: '} while (!(await keptClosed(deps, signal)));',
        replace: '} while (keptClosed.length < 0);',
        tests: [
          instanceTest(
            'lifecycle/leader/commit.test.ts',
            'is blocked again when its block is gone, and looked at again after that',
          ),
          instanceTest(
            'lifecycle/leader/commit.test.ts',
            'keeps the destination closed when writes came in while its block was gone',
          ),
        ],
      },
    ],
  },
  {
    number: 161,
    hazard:
      'A primary that another one has replaced writes an oplog note: its time is below writes that a majority has, ' +
      'and a commit time leaves them out',
    handling: 'A note waits for a majority, which a replaced primary does not get.',
    sabotages: [
      {
        takesOut: 'the write concern of notes',
        file: instance('cluster/driver/commands.ts'),
        symbol: 'commands',
        find: "appendOplogNote: 'writeConcern',",
        replace: "appendOplogNote: 'neither',",
        tests: [
          instanceTest(
            'cluster/driver/commands.test.ts',
            'a note, a read and a cursor state what they take, and a later batch nothing',
          ),
        ],
      },
    ],
  },
  {
    number: 162,
    hazard:
      "A cluster's default write concern asks for a member that is away, or has a time limit; its default read " +
      'concern shows orphans',
    handling: 'Every command states its write concern or read concern.',
    sabotages: [
      {
        takesOut: 'the stated write concern',
        file: instance('cluster/driver/commands.ts'),
        symbol: 'stated',
        find: "{ ...command, writeConcern: { w: 'majority' } }",
        replace: '{ ...command }',
        tests: [
          instanceTest(
            'cluster/driver/commands.test.ts',
            'that changes something waits for a majority, without a time limit',
          ),
          integrationTest(
            'defaults/stated-concerns.test.ts',
            'every command of a migration and its reverse states what it takes: %j to %j',
          ),
        ],
      },
    ],
  },
  {
    number: 163,
    hazard: '`defaultMaxTimeMS` ends every read that takes longer: one that finds nothing for long never ends',
    handling: 'Every read states that it has no limit. Servers take 0 as given.',
    sabotages: [
      {
        takesOut: 'the stated limit',
        file: instance('cluster/driver/commands.ts'),
        symbol: 'stated',
        find: 'return { ...command, readConcern, maxTimeMS };',
        replace: 'return { ...command, readConcern, ...(maxTimeMS === 0 ? {} : { maxTimeMS }) };',
        tests: [
          instanceTest(
            'cluster/driver/commands.test.ts',
            'that reads documents states a level and that it has no time limit',
          ),
          integrationTest(
            'defaults/cluster-defaults.test.ts',
            'defaultMaxTimeMS limits no read, also where a document filter matches nothing',
          ),
        ],
      },
    ],
  },
  {
    number: 164,
    hazard:
      'With `readPreference`, a member that gets nothing answers with its own time: the lag is 0, and the commit is ' +
      'offered far behind the source',
    handling:
      'The lag is measured against the latest time of the primary, which the leader asks for all the time, when that ' +
      "is above the answering member's.",
    sabotages: [
      {
        takesOut: "the primary's time",
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'ChangeStreamReader',
        find: 'known(batch.operationTime, batch.primaryTime)',
        replace: 'known(batch.operationTime)',
        tests: [
          instanceTest(
            'apply/change-stream-reader.test.ts',
            "measures the source by its primary's time when the answering member is behind",
          ),
        ],
      },
      {
        takesOut: 'the times of replies of primaries',
        file: instance('cluster/driver/driver-node-client.ts'),
        symbol: 'DriverNodeClient',
        find: '      this.times.primaryAnswered(reply);\n',
        replace: '',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'a batch of a member that lags has the time of the primary beside its own',
          ),
        ],
      },
    ],
  },
  {
    number: 168,
    hazard:
      'A connection string has a `socketTimeoutMS` or `waitQueueTimeoutMS` for short queries: a command that a ' +
      'server takes longer for fails in every repetition, and no connection is opened in time',
    handling: 'Calls have limits of their own, which grow. The one is left out, and the other is 10 s at least.',
    sabotages: [
      {
        takesOut: 'the answer without a limit',
        file: instance('cluster/driver/clients.ts'),
        symbol: 'clientOptions',
        find: 'socketTimeoutMS: 0,',
        replace: '',
        tests: [
          instanceTest(
            'cluster/driver/clients.test.ts',
            'no limit of a connection string ends what a server takes long for: %s',
          ),
        ],
      },
      {
        takesOut: 'the floor',
        file: instance('cluster/driver/clients.ts'),
        symbol: 'withinFloor',
        find: 'poolWait < poolWaitMin_ms ?',
        replace: 'poolWait < 0 ?',
        tests: [
          instanceTest(
            'cluster/driver/clients.test.ts',
            'no limit of a connection string ends what a server takes long for: %s',
          ),
        ],
      },
    ],
  },
];
