import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** What a commit has to wait for, and what keeps it from coming to its end. */
export const commitHazards: readonly Hazard[] = [
  {
    number: 60,
    hazard:
      'A sharded transaction is acknowledged before every shard has committed it. A commit time in between tears it, ' +
      'and both sides look alike',
    handling:
      'The commit waits until every transaction that is open, prepared or decided has ended on all shards, then ' +
      'takes its time. Before the opening it waits again, and reads every stream past a time above them.',
    sabotages: [
      {
        takesOut: 'the wait before the commit time',
        file: instance('lifecycle/leader/commit-rounds.ts'),
        symbol: 'beginRound',
        find: 'await untilTransactionsEnd(deps, signal);',
        replace: 'void untilTransactionsEnd;',
        tests: [
          instanceTest(
            'lifecycle/leader/commit-rounds.test.ts',
            'is taken once the transactions that were open before have ended, in every round',
          ),
          integrationTest(
            'lifecycle/torn-transaction.test.ts',
            'a transaction that one shard has committed and another has not is awaited, and arrives complete',
          ),
        ],
      },
      {
        takesOut: 'prepared transactions without an active operation',
        file: instance('cluster/current-operations.ts'),
        symbol: 'openTransactions',
        find: 'idleSessions: true',
        replace: 'idleSessions: false',
        tests: [
          integrationTest(
            'cluster/current-operations.test.ts',
            'has the same name in every read until the last shard has committed',
          ),
        ],
      },
      {
        takesOut: 'the tasks, in the look for late writes',
        file: instance('lifecycle/leader/late-writes.ts'),
        symbol: 'readLateWrites',
        find: 'drained?.lookedTo?.equals(lastLook) === true',
        replace: "drained !== null || 'lookedTo' in lastLook",
        tests: [
          instanceTest(
            'lifecycle/leader/commit.test.ts',
            'is refused for a late write that a task finds only when it reads its stream up to a current time',
          ),
        ],
      },
      {
        takesOut: 'the end of the stream, in what a task reports',
        file: instance('lifecycle/task/follow-commit.ts'),
        symbol: 'drainedRound',
        find: 'upTo !== null && readBelow > timeOf(upTo) &&',
        replace: 'upTo !== null && readBelow >= 0n &&',
        tests: [
          instanceTest(
            'lifecycle/task/sync-tasks.test.ts',
            'a task reports that its stream has passed the time of the leader, with the late writes up to there',
          ),
        ],
      },
    ],
  },
  {
    number: 69,
    hazard:
      '`appendOplogNote` answers LockFailed while the global lock is taken for more than 1 ms: stepdowns, `fsync`, a ' +
      'user write block',
    handling: 'A note that yields a required time is retried. A note that only wakes a stream skips such a shard.',
    sabotages: [
      {
        takesOut: 'the code, in those that are retried',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'LockFailed: lockFailedCode,',
        replace: '',
        tests: [
          instanceTest('cluster/failure.test.ts', 'finds %s by the code'),
          integrationTest(
            'lifecycle/taken-lock.test.ts',
            'a migration continues although its source answers notes with LockFailed for a while',
          ),
        ],
      },
      {
        takesOut: 'the shard that is skipped',
        file: instance('cluster/cluster-time.ts'),
        symbol: 'unlessLocked',
        find: 'if (codeOf(error) !== lockFailedCode) throw error;',
        replace: 'if (codeOf(error) !== null) throw error;',
        tests: [instanceTest('cluster/taken-locks.test.ts', 'is skipped by callers that only advance it')],
      },
    ],
  },
  {
    number: 72,
    hazard:
      'A document differs permanently while a commit is offered: nothing mends it, and the commit fails every time',
    handling:
      'A difference that persists with nothing in flight withholds `canCommit`. All tasks re-read the document and ' +
      'write it, three times at most. A remaining difference is named with its reason.',
    sabotages: [
      {
        takesOut: 'the re-read',
        file: instance('verify/embedded/stored-mismatch.ts'),
        symbol: 'nextHistory',
        find: 'if (!isDue || next.rereads >= rereadsMax || rereadTasks.length === 0) return next;',
        replace: 'if (next.state.length >= 0) return next;',
        tests: [
          instanceTest(
            'verify/embedded/stored-mismatch.test.ts',
            'is proven, and handed over for a re-read, if it was the same in three checks after the first',
          ),
          integrationTest(
            'verify/embedded.test.ts',
            'documents that are made different while changes are applied withhold the commit until they are re-read',
          ),
        ],
      },
      {
        takesOut: 'the wait for changes in flight',
        file: instance('verify/embedded/stored-mismatch.ts'),
        symbol: 'nextHistory',
        find: 'const isConfirmed = isSame && applied >= before.since;',
        replace: 'const isConfirmed = isSame && applied >= 0n;',
        tests: [instanceTest('verify/embedded/stored-mismatch.test.ts', 'is not while its change may be in flight')],
      },
      {
        takesOut: 'the bound of re-reads',
        file: instance('verify/embedded/stored-mismatch.ts'),
        symbol: 'nextHistory',
        find: 'next.rereads >= rereadsMax',
        replace: 'next.rereads >= 100',
        tests: [
          instanceTest(
            'verify/embedded/stored-mismatch.test.ts',
            'is handed over a limited number of times, and then left to the operator',
          ),
        ],
      },
      {
        takesOut: 'the withheld offer',
        file: instance('lifecycle/task/verification-stats.ts'),
        symbol: 'blockerOf',
        find: 'if (lasting.documents > 0) return',
        replace: 'if (lasting.documents < 0) return',
        tests: [instanceTest('lifecycle/task/verification-stats-readiness.test.ts', '%s')],
      },
      {
        takesOut: 'the wait for statements in flight',
        file: instance('store/reread-set.ts'),
        symbol: 'addParked',
        find: 'for (const entry of entries) entry.notBefore_ms = Infinity;',
        replace: '',
        tests: [
          instanceTest(
            'store/reread-set.test.ts',
            'absorbs its events at once, and is not read before these are answered',
          ),
        ],
      },
      {
        takesOut: 'the same wait where a range is given up',
        file: instance('lifecycle/task/reread-relief.ts'),
        symbol: 'removable',
        find: 'entry.durable && entry.notBefore_ms < Infinity',
        replace: 'entry.durable',
        tests: [
          instanceTest(
            'lifecycle/task/reread-relief.test.ts',
            'keeps an entry whose document may have a statement in flight, and the range, until the answer',
          ),
        ],
      },
    ],
  },
  {
    number: 82,
    hazard:
      'A user write block waits for all open transactions, blocking every operation of the node meanwhile; set ' +
      'again, it repeats this and aborts index builds',
    handling:
      'A block that a replica set shows, or that a config server has recorded, is not set again. A new one may take ' +
      'longer than transactions live. Aborted builds are restarted.',
    sabotages: [
      {
        takesOut: 'the look at an existing block',
        file: instance('cluster/write-block.ts'),
        symbol: 'setWriteBlock',
        find: 'if (blocked && (await standingBlock(cluster, options))?.foreignReason === null) return;',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/migration/write-blocks.test.ts',
            'is not set again where it is active, and is lifted',
          ),
        ],
      },
      {
        takesOut: 'the class of aborted builds',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'IndexBuildAborted: 276,',
        replace: '',
        tests: [
          instanceTest('cluster/failure.test.ts', 'retries an index build that a block of user writes has aborted'),
        ],
      },
    ],
  },
  {
    number: 83,
    hazard:
      "A user write block that somebody else has set, for another reason, is taken for Convoy's own and lifted in " +
      'the middle of a commit',
    handling:
      "A block with a reason is not Convoy's, which sets its own without one. Servers with reasons refuse to set or " +
      'lift one over another; the failure names the reason.',
    sabotages: [
      {
        takesOut: 'the reason',
        file: instance('cluster/write-block.ts'),
        symbol: 'blockIn',
        find: 'reason === withoutReason ? null : reason',
        replace: 'reason.length > 0 ? null : reason',
        tests: [
          instanceTest(
            'lifecycle/migration/write-blocks.test.ts',
            "for another reason does not count as Convoy's own, and its reason is reported: wanted %s",
          ),
        ],
      },
    ],
  },
  {
    number: 87,
    hazard:
      "TTL of the destination deletes documents that the source still has: the source's own is paused, slower, or " +
      'blocked',
    handling:
      "Until the commit the destination's TTL indexes never expire anything, and clustered collections have no " +
      'expiry. Deletes of the source arrive as events.',
    sabotages: [
      {
        takesOut: 'the expiry that never comes',
        file: instance('catalog/index-plan.ts'),
        symbol: 'dormant',
        find: "return 'expireAfterSeconds' in visible ? { ...visible, expireAfterSeconds: TTL_OFF_SECONDS } : visible;",
        replace: 'return visible;',
        tests: [
          instanceTest(
            'catalog/create-collections.test.ts',
            'builds unique indexes plain under another name, TTL disabled, hidden visible',
          ),
        ],
      },
      {
        takesOut: 'the omitted expiry of clustered collections',
        file: instance('catalog/collection-options.ts'),
        symbol: 'createOptions',
        find: "return withoutFields(options, 'expireAfterSeconds');",
        replace: "return withoutFields(options, 'autoIndexId');",
        tests: [
          integrationTest(
            'kinds/expiring-documents.test.ts',
            'what the source keeps beyond its time is kept by the destination until the commit (%s)',
          ),
        ],
      },
      {
        takesOut: 'the name of a time series that expires, by which its deletes are no differences',
        file: instance('lifecycle/task/verification-task.ts'),
        symbol: 'VerifiedTask',
        find: 'catalog.filter(expires).map(shownName)',
        replace: 'catalog.filter(expires).map(({ database, name }) => `${database}.${name}`)',
        tests: [
          integrationTest(
            'kinds/time-series-expiry.test.ts',
            'measurements that the source keeps beyond their time are kept by the destination until the commit, ' +
              'from %j to %j',
          ),
        ],
      },
    ],
  },
  {
    number: 90,
    hazard:
      "A router does not show whether a user write block is in force: Convoy believes the config server's record " +
      'while the block is being lifted',
    handling: 'A block counts only if the config server is idle and has recorded it since. Otherwise it is set again.',
    sabotages: [
      {
        takesOut: 'the record of the config server',
        file: instance('cluster/write-block.ts'),
        symbol: 'blockIn',
        find: 'if (document?.blockUserWrites !== true) return null;',
        replace: 'if (document?.blockUserWrites !== false) return null;',
        tests: [
          instanceTest(
            'lifecycle/migration/write-blocks.test.ts',
            'is not set again where the config server has recorded it',
          ),
          instanceTest('lifecycle/migration/write-blocks.test.ts', 'is set where %s'),
        ],
      },
      {
        takesOut: 'the look at what the config server is doing',
        file: instance('cluster/write-block.ts'),
        symbol: 'blockOfShards',
        find: "(await firstIn(router, 'sharding_configsvr_coordinators', 'majority', options)) !== null",
        replace: 'options.signal.aborted',
        tests: [instanceTest('lifecycle/migration/write-blocks.test.ts', 'is set where %s')],
      },
      {
        takesOut: 'the advice about a refusal, in the cleanup',
        file: instance('lifecycle/instance/clean-up.ts'),
        symbol: 'cleanUp',
        find: 'setOrExplain(cluster, false, attempt);',
        replace:
          "cluster.router.command('admin', { setUserWriteBlockMode: 1, global: false }, { signal: attempt " +
          '}).then(() => undefined);',
        tests: [
          integrationTest(
            'cleanup/cleanup.test.ts',
            'names what a cluster refuses, and what to do about it, and can be repeated',
          ),
        ],
      },
    ],
  },
  {
    number: 104,
    hazard: 'A commit before the indexes are built opens a destination without them',
    handling: 'With indexes after the copy, no instance offers a commit before the record says that they are built.',
    sabotages: [
      {
        takesOut: 'the wait for the indexes',
        file: instance('lifecycle/instance/commit-offer.ts'),
        symbol: 'missingDefinitions',
        find: 'if (awaitsIndexes(record))',
        replace: 'if (awaitsIndexes(record) && record.warnings.length < 0)',
        tests: [
          instanceTest(
            'lifecycle/instance/commit-offer.test.ts',
            'indexes that are built after the copy block a commit until they are built',
          ),
        ],
      },
    ],
  },
];
