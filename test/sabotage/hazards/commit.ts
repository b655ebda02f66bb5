import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** What a commit has to wait for, and what keeps it from coming to its end. */
export const commitHazards: readonly Hazard[] = [
  {
    number: 60,
    hazard:
      'A transaction over shards is acknowledged before every shard has committed it; a commit time in between tears it, and both sides then look alike',
    handling:
      'The commit time is taken once every transaction that is open or prepared anywhere, or decided and not carried out, has ended on all shards. Before the opening Convoy waits for transactions again, and every stream is read past a time above them.',
    sabotages: [
      {
        takesOut: 'the wait before the commit time',
        file: instance('lifecycle/leader/commit-rounds.ts'),
        symbol: 'beginRound',
        find: 'await untilTransactionsEnd(deps, leaderEpoch, signal);',
        replace: 'void untilTransactionsEnd;',
        tests: [
          instanceTest(
            'lifecycle/leader/commit-rounds.test.ts',
            'is taken once the transactions that were open before have ended, in every round',
          ),
          integrationTest(
            'lifecycle/torn-transaction.test.ts',
            'a transaction that one shard has committed and another has not is waited for, and arrives whole',
          ),
        ],
      },
      {
        takesOut: 'prepared transactions that nobody works on',
        file: instance('cluster/open-transactions.ts'),
        symbol: 'openTransactions',
        find: 'idleSessions: true',
        replace: 'idleSessions: false',
        tests: [
          integrationTest(
            'cluster/open-transactions.test.ts',
            'has one name at every look until the last shard has committed',
          ),
        ],
      },
      {
        takesOut: 'the shares from the last look',
        file: instance('lifecycle/leader/last-look.ts'),
        symbol: 'refuseLateWrites',
        find: 'drained?.lookedTo?.equals(lastLook) === true',
        replace: "drained !== null || 'lookedTo' in lastLook",
        tests: [
          instanceTest(
            'lifecycle/leader/commit.test.ts',
            'is refused for a write that a share comes upon only when it reads its stream up to the last look',
          ),
        ],
      },
      {
        takesOut: 'the end of the stream from what a share tells',
        file: instance('lifecycle/run/member.ts'),
        symbol: 'drainedRound',
        find: 'lastLook !== null && readBelow > timeOf(lastLook) &&',
        replace: 'lastLook !== null && readBelow >= 0n &&',
        tests: [
          instanceTest(
            'lifecycle/run/member.test.ts',
            'a share tells that its stream was read past the last look, with the late writes up to there',
          ),
        ],
      },
    ],
  },
  {
    number: 69,
    hazard:
      '`appendOplogNote` answers LockFailed while the global lock is taken for more than 1 ms: steps down, `fsync`, a block of writes',
    handling:
      'A time above all is asked for again, within the policy of retries; who only wakes a stream leaves such a shard as it is.',
    sabotages: [
      {
        takesOut: 'the code from what may be tried again',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'LockFailed: lockFailedCode,',
        replace: '',
        tests: [
          instanceTest('cluster/failure.test.ts', 'finds %s by the code'),
          integrationTest(
            'lifecycle/taken-lock.test.ts',
            'a migration goes on whose source answers notes with LockFailed for a while',
          ),
        ],
      },
      {
        takesOut: 'the shard that is left as it is',
        file: instance('cluster/cluster-time.ts'),
        symbol: 'unlessLocked',
        find: 'if (codeOf(error) !== lockFailedCode) throw error;',
        replace: 'if (codeOf(error) !== null) throw error;',
        tests: [instanceTest('cluster/taken-locks.test.ts', 'is left as it is by those who only wake it')],
      },
    ],
  },
  {
    number: 72,
    hazard: 'A document differs for good while a commit is offered: nobody mends it, and the commit fails for ever',
    handling:
      'What differs at several looks with nothing on its way keeps the commit from being offered. All shares read it anew from the source and write it, three times at most. What differs still is named with the reason.',
    sabotages: [
      {
        takesOut: 'the reading anew',
        file: instance('verify/embedded/standing.ts'),
        symbol: 'nextStanding',
        find: 'if (!isDue || next.rereads >= rereadsMax || repairers.length === 0) return next;',
        replace: 'if (next.state.length >= 0) return next;',
        tests: [
          instanceTest(
            'verify/embedded/standing.test.ts',
            'is proven, and given to all shares to be read anew, when it has stood still in three looks after the first',
          ),
          integrationTest(
            'verify/embedded.test.ts',
            'documents that are made different while changes are applied keep the commit from being offered until they were read anew',
          ),
        ],
      },
      {
        takesOut: 'the wait for changes that are on their way',
        file: instance('verify/embedded/standing.ts'),
        symbol: 'nextStanding',
        find: 'const counts = isSame && applied >= before.since;',
        replace: 'const counts = isSame && applied >= 0n;',
        tests: [instanceTest('verify/embedded/standing.test.ts', 'is not while its change may be on its way')],
      },
      {
        takesOut: 'the bound of readings',
        file: instance('verify/embedded/standing.ts'),
        symbol: 'nextStanding',
        find: 'next.rereads >= rereadsMax',
        replace: 'next.rereads >= 100',
        tests: [
          instanceTest(
            'verify/embedded/standing.test.ts',
            'is given a limited number of times, and given up when that has not helped',
          ),
        ],
      },
      {
        takesOut: 'the offer that is held back',
        file: instance('lifecycle/stats/verification-readiness.ts'),
        symbol: 'blockerOf',
        find: 'if (lasting.documents > 0) return',
        replace: 'if (lasting.documents < 0) return',
        tests: [instanceTest('lifecycle/stats/verification-readiness.test.ts', '%s')],
      },
      {
        takesOut: 'the wait for statements that are under way',
        file: instance('store/reread-set.ts'),
        symbol: 'addParked',
        find: 'for (const entry of entries) entry.notBefore_ms = Infinity;',
        replace: '',
        tests: [
          instanceTest(
            'store/reread-set.test.ts',
            'absorbs its events at once, and is not read before those are answered',
          ),
        ],
      },
    ],
  },
  {
    number: 82,
    hazard:
      'A block of user writes waits for all open transactions, with every operation of the node behind it; set again, it does so again and aborts index builds',
    handling:
      'A block that a replica set shows, or a config server has noted, is not set again. One that is asked for has longer than transactions live. A build that was aborted is begun again.',
    sabotages: [
      {
        takesOut: 'the look at the block that stands',
        file: instance('cluster/write-block.ts'),
        symbol: 'setWriteBlock',
        find: 'if (blocked && (await standingBlock(cluster, options))?.foreignReason === null) return;',
        replace: '',
        tests: [
          instanceTest('lifecycle/migration/write-blocks.test.ts', 'is not set again where it stands, and is lifted'),
        ],
      },
      {
        takesOut: 'the class of aborted builds',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'IndexBuildAborted: 276,',
        replace: '',
        tests: [
          instanceTest(
            'cluster/failure.test.ts',
            'an index build that a block of user writes has ended is begun again',
          ),
        ],
      },
    ],
  },
  {
    number: 83,
    hazard:
      "A block of user writes that somebody else has set, for another reason, is taken for Convoy's own: it is lifted in the middle of a commit",
    handling:
      "A block with a reason is not Convoy's, which sets its own without. Servers that have reasons refuse to set or lift one over another; the failure names the reason.",
    sabotages: [
      {
        takesOut: 'the reason',
        file: instance('cluster/write-block.ts'),
        symbol: 'blockOfReplicaSet',
        find: 'userWriteBlockReason === 0 ? null',
        replace: 'userWriteBlockReason >= 0 ? null',
        tests: [
          instanceTest(
            'lifecycle/migration/write-blocks.test.ts',
            "of somebody else is not taken for Convoy's own, and its reason is told: wanted %s",
          ),
        ],
      },
    ],
  },
  {
    number: 87,
    hazard:
      'TTL of the destination deletes documents that the source still has: its own stands still, is slower, or waits behind a block',
    handling:
      'Until the commit TTL indexes of the destination are set to what never comes, and clustered collections are without their age. What the source deletes comes as events.',
    sabotages: [
      {
        takesOut: 'the time that never comes',
        file: instance('catalog/plan/index-plan.ts'),
        symbol: 'dormant',
        find: "return 'expireAfterSeconds' in visible ? { ...visible, expireAfterSeconds: TTL_OFF_SECONDS } : visible;",
        replace: 'return visible;',
        tests: [
          instanceTest(
            'catalog/make/create-collections.test.ts',
            'builds unique indexes plain under another name, TTL switched off, hidden visible',
          ),
        ],
      },
      {
        takesOut: 'the age that is left out',
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
    ],
  },
  {
    number: 90,
    hazard:
      'A router does not show whether a block of user writes stands: what the config server has noted of it is believed while it is being lifted',
    handling:
      'A block counts as standing when the config server is at no work and has noted it since. Everything else has it set again.',
    sabotages: [
      {
        takesOut: 'the note of the config server',
        file: instance('cluster/write-block.ts'),
        symbol: 'blockOfShards',
        find: 'if (block?.blockUserWrites !== true) return null;',
        replace: 'if (block?.blockUserWrites !== false) return null;',
        tests: [
          instanceTest(
            'lifecycle/migration/write-blocks.test.ts',
            'is not set again where the config server has noted it',
          ),
          instanceTest('lifecycle/migration/write-blocks.test.ts', 'is set where %s'),
        ],
      },
      {
        takesOut: 'the look at what the config server is doing',
        file: instance('cluster/write-block.ts'),
        symbol: 'blockOfShards',
        find: "if ((await firstIn(router, 'sharding_configsvr_coordinators', options)) !== null) return null;",
        replace: '',
        tests: [instanceTest('lifecycle/migration/write-blocks.test.ts', 'is set where %s')],
      },
      {
        takesOut: 'what to do about a refusal, in the cleanup',
        file: instance('lifecycle/commands/clean-up.ts'),
        symbol: 'cleanUp',
        find: 'setOrExplain(cluster, false, attempt);',
        replace:
          "cluster.router.command('admin', { setUserWriteBlockMode: 1, global: false }, { signal: attempt }).then(() => undefined);",
        tests: [
          integrationTest(
            'cleanup/cleanup.test.ts',
            'names what a cluster refuses, and what to do about it, and can be carried out again',
          ),
        ],
      },
    ],
  },
];
