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
      'A connection string has a `timeoutMS`, `socketTimeoutMS` or `waitQueueTimeoutMS` for short queries, or a ' +
      'rare `heartbeatFrequencyMS`: a command that a server takes longer for fails in every repetition, no ' +
      'connection is opened in time, and another primary is noticed minutes late',
    handling:
      'Calls have limits of their own, which grow. The first two are left out, waits have a floor, and the time ' +
      'between two looks at a node has a ceiling.',
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
        symbol: 'withinBounds',
        find: 'return written_ms > 0 && written_ms < min_ms;',
        replace: 'return written_ms > 0 && written_ms < 0 * min_ms;',
        tests: [
          instanceTest(
            'cluster/driver/clients.test.ts',
            'no limit of a connection string ends what a server takes long for: %s',
          ),
        ],
      },
      {
        takesOut: 'what keeps Convoy from connecting',
        file: instance('cluster/open-cluster.ts'),
        symbol: 'ownedOptions',
        find: "'readpreference', 'readpreferencetags', ",
        replace: '',
        tests: [
          instanceTest(
            'cluster/open-cluster.test.ts',
            'of primaries is not ended by what a connection string says of limits and members: %s',
          ),
        ],
      },
    ],
  },
  {
    number: 184,
    hazard:
      'A member that leads no more answers what a cluster keeps about itself: a commit takes along users that were ' +
      'rolled back or lacks new ones, a start sees no chunk move, and a full collection is empty',
    handling:
      'Reads of `admin` and `config`, and whether a collection is empty, are at majority and wait for what was ' +
      'written before.',
    sabotages: [
      {
        takesOut: 'the majority',
        file: instance('cluster/driver/commands.ts'),
        symbol: 'defaultLevel',
        find: 'isOfCollection && clusterDatabases.has(database)',
        replace: 'isOfCollection && clusterDatabases.has(`no ${database}`)',
        tests: [
          instanceTest(
            'cluster/driver/commands.test.ts',
            'that reads what a cluster keeps about itself reads what a majority has: %s %j',
          ),
          instanceTest(
            'cluster/driver/commands.test.ts',
            'a read of what a cluster keeps about itself waits for earlier writes, and a change stream does not',
          ),
        ],
      },
    ],
  },
  {
    number: 185,
    hazard:
      'A member cannot confirm that the block of user writes has a majority (187), and its refusal counts as a block ' +
      'that the user may not see: the commit goes on without one',
    handling:
      'Only a user who lacks the privilege may not see it. Every other refusal is repeated, or ends the commit.',
    sabotages: [
      {
        takesOut: 'the difference between both',
        file: instance('cluster/write-block.ts'),
        symbol: 'shownBlock',
        find: "if (classify(error) !== 'unauthorized') throw error;",
        replace: 'void classify;',
        tests: [
          instanceTest(
            'lifecycle/migration/write-blocks.test.ts',
            'is looked at again, and not taken for one that nobody may see, after the code %i',
          ),
        ],
      },
    ],
  },
  {
    number: 186,
    hazard:
      'Another tool has left the destination closed to users: the first write of a migration ends it as an internal ' +
      'error, or users cannot write after the commit',
    handling: 'A start names the block, as a refusal where it blocks Convoy too and as a warning otherwise.',
    sabotages: [
      {
        takesOut: 'the refusal',
        file: instance('preflight/check-privileges.ts'),
        symbol: 'describeStandingBlock',
        find: 'if (block === null) return null;',
        replace: 'if (block === null || signal !== null) return null;',
        tests: [
          integrationTest(
            'write-blocking/refused-starts.test.ts',
            'a destination that another tool keeps closed is refused, or named where Convoy may write',
          ),
        ],
      },
      {
        takesOut: 'the name of what is refused later',
        file: instance('cluster/named-failure.ts'),
        symbol: 'namedCodes',
        find: '[userWritesBlockedCode, [',
        replace: '[-1 * userWritesBlockedCode, [',
        tests: [
          instanceTest('cluster/named-failure.test.ts', 'the code %i of a server is %s, with what to do'),
          instanceTest(
            'cluster/failure.test.ts',
            'leaves no code without a name that an operator can do something about',
          ),
        ],
      },
    ],
  },
];
