import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Commands that are sent again, and servers that answer in the middle of a change. */
export const retryHazards: readonly Hazard[] = [
  {
    number: 52,
    hazard: 'Deltas that are replayed after a restart or an ambiguous retry misplace fields or fail on arrays',
    handling:
      'A write whose outcome is unknown is retried under its number. After a restart, documents that may have ' +
      'changed already are re-read.',
    sabotages: [
      {
        takesOut: 'the number of the first attempt',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeIn',
        find: 'await writeTicketed(this.client, write, ticket, signal);',
        replace: 'await writeTicketed(this.client, write, { ...ticket, txnNumber: slot.next++ }, signal);',
        tests: [
          instanceTest(
            'store/fenced-writer.test.ts',
            'is sent again under its number when its outcome is unknown or a statement may succeed later',
          ),
        ],
      },
      {
        takesOut: 'the re-read for deltas after a restart',
        file: instance('apply/action.ts'),
        symbol: 'update',
        find: "if (event.time <= bounds.watermark) return { kind: 'reread', reason: 'replayedDelta' };",
        replace: '',
        tests: [instanceTest('apply/action.test.ts', 'is a re-read: %s')],
      },
      {
        takesOut: 'the apply watermark',
        file: instance('apply/apply-workers.ts'),
        symbol: 'send',
        find: 'await this.deps.applyWatermark.cover(batch.last);',
        replace: '',
        tests: [
          instanceTest('apply/apply-workers-batches.test.ts', 'is covered by the apply watermark before it is sent'),
        ],
      },
      {
        takesOut: 'the mark of a partition before its first write',
        file: instance('copy/copy-partition.ts'),
        symbol: 'pump',
        find: 'await marked;',
        replace: '',
        tests: [
          instanceTest('copy/copy-partition-marked.test.ts', 'a partition is durably dirty before its first write'),
        ],
      },
      {
        takesOut: 'the removal of documents that an earlier attempt may have written',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'place',
        find: 'const removes = partition.dirty && !collection.capped && mayMove(event, collection);',
        replace: 'const removes = false as boolean;',
        tests: [
          instanceTest(
            'apply/event-dispatcher.test.ts',
            'that waits dirty removes its document unless it is an insert',
          ),
        ],
      },
    ],
  },
  {
    number: 68,
    hazard:
      'A majority read right after a majority write, or after a read that showed it, goes to a newly elected primary ' +
      'that does not know the write yet',
    handling:
      'Every majority read through a `NodeClient` waits for the operation time of the latest write or majority read ' +
      'that was answered through it.',
    sabotages: [
      {
        takesOut: 'the time to wait for',
        file: instance('cluster/driver/commands.ts'),
        symbol: 'included',
        find: 'afterClusterTime: this.#latest }',
        replace: '}',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            "sees the client's own writes, whichever primary answers",
          ),
        ],
      },
      {
        takesOut: 'the cluster time for another router',
        file: instance('cluster/driver/commands.ts'),
        symbol: 'prepare',
        find: 'if (this.#clusterTime !== null) session',
        replace: 'if (this.#clusterTime !== null && this.#latest === null) session',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'advances the cluster time of a router that did not see a write',
          ),
        ],
      },
      {
        takesOut: 'the time of reads at majority',
        file: instance('cluster/driver/driver-node-client.ts'),
        symbol: 'command',
        find: ' || isMajorityRead(whole)) this.times',
        replace: ' || isMajorityRead({})) this.times',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'shows no less than an earlier read has shown, whichever primary answers',
          ),
        ],
      },
      {
        takesOut: 'the time of bulk writes',
        file: instance('cluster/driver/driver-node-client.ts'),
        symbol: 'write',
        find: '    this.times.answered(reply);\n    return writeOutcome(reply, write);',
        replace: '    return writeOutcome(reply, write);',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            "sees the client's own writes, whichever primary answers",
          ),
        ],
      },
    ],
  },
  {
    number: 85,
    hazard:
      'A write whose answer was lost is retried, and the server no longer knows its outcome: ' +
      'IncompleteTransactionHistory (217)',
    handling:
      "The document is re-read. A re-read's own write is sent under another number, a capped copy starts again, and " +
      'a fence counts as taken.',
    sabotages: [
      {
        takesOut: 'the re-read for a refused statement',
        file: instance('store/fenced-writer.ts'),
        symbol: 'rereadOfRefusal',
        find: "if (code === historyIncompleteCode) return 'unknownOutcome';",
        replace: '',
        tests: [
          instanceTest('apply/send-batch.test.ts', 'is re-read when its outcome is unknown'),
          instanceTest('copy/partition-writer.test.ts', 'a document with an unknown write outcome is re-read'),
        ],
      },
      {
        takesOut: 'the re-read for all statements of a refused command',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeTicketed',
        find: "if (kind === 'outcomeUnknown') return unknownOutcome(write);",
        replace: '',
        tests: [
          instanceTest(
            'store/fenced-writer.test.ts',
            'that was repeated and has an unknown outcome reports it for each statement, and is fenced: %s',
          ),
        ],
      },
      {
        takesOut: 'the other number within a re-read',
        file: instance('reread/reread-batch.ts'),
        symbol: 'writeKnown',
        find:
          'if (outcome.failures.some(({ code }) => code === historyIncompleteCode)) throw new ' +
          'RetryableStatement(historyIncompleteCode);',
        replace: '',
        tests: [
          instanceTest('reread/rereader-refused.test.ts', 'a document with an unknown write outcome is %s again'),
        ],
      },
      {
        takesOut: 'the restart of a capped copy',
        file: instance('copy/copy-capped.ts'),
        symbol: 'insertInOrder',
        find: ' || failure?.code === historyIncompleteCode',
        replace: '',
        tests: [instanceTest('copy/copy-capped.test.ts', 'the copy restarts when the outcome of a write is unknown')],
      },
      {
        takesOut: 'the fence that counts as taken',
        file: instance('store/fence.ts'),
        symbol: 'send',
        find: 'if (n + stored < this.#write.statements.length) {',
        replace: 'if (n < this.#write.statements.length) {',
        tests: [
          instanceTest(
            'store/fenced-writer.test.ts',
            'counts on a shard that no longer knows the outcome: it has stored the number',
          ),
        ],
      },
    ],
  },
  {
    number: 92,
    hazard:
      'During an upgrade primaries of two releases alternate: one refuses what the other knows, and the migration ends',
    handling: "Convoy uses what the cluster's feature compatibility version allows, which all of its nodes know.",
    sabotages: [
      {
        takesOut: 'the feature compatibility version',
        file: instance('cluster/topology.ts'),
        symbol: 'readReleases',
        find: 'const version = shared !== null && isOlder(shared, binary) ? shared : binary;',
        replace: 'const version = shared !== null && isOlder(shared, [0, 0, 0]) ? shared : binary;',
        tests: [
          instanceTest('cluster/open-cluster.test.ts', 'when the feature compatibility version is %s'),
          integrationTest('releases/rolling-upgrade.test.ts', 'a node of the older release may become primary again'),
        ],
      },
      {
        takesOut: 'the look at both versions before a commit',
        file: instance('lifecycle/instance/commit-offer.ts'),
        symbol: 'versionRefusal',
        find: 'if (destination !== home || !from || !to || !isOlder(to.version, from.version)) return null;',
        replace: 'if (destination !== home || !from || !to || !isOlder(from.version, [0, 0, 0])) return null;',
        tests: [
          integrationTest(
            'releases/rolling-upgrade.test.ts',
            'a commit is refused by name while the source was upgraded beyond the destination',
          ),
        ],
      },
      {
        takesOut: 'the look at a version that was lowered',
        file: instance('lifecycle/instance/commit-offer.ts'),
        symbol: 'versionRefusal',
        find: 'if (to && isOlder(to.version, destination.version))',
        replace: 'if (to && isOlder(to.version, [0, 0, 0]))',
        tests: [
          integrationTest(
            'releases/rolling-upgrade.test.ts',
            'a commit is refused by name after the destination lowered its feature compatibility version',
          ),
        ],
      },
      {
        takesOut: 'the blocker of a commit that would be refused',
        file: instance('lifecycle/instance/commit-offer.ts'),
        symbol: 'missingHere',
        find: 'return refusal === null ? missing',
        replace: 'return refusal !== undefined ? missing',
        tests: [
          instanceTest(
            'lifecycle/instance/commit-offer.test.ts',
            'is refused at once by its name when the versions of the clusters no longer fit',
          ),
          integrationTest(
            'releases/rolling-upgrade.test.ts',
            'a commit is not offered while the destination has a lower feature compatibility version than before',
          ),
        ],
      },
    ],
  },
  {
    number: 93,
    hazard:
      "A server ends a connection while the driver writes to it. The driver passes on Node.js's socket error, which " +
      'looks like a defect, and the migration ends',
    handling: 'A socket error of Node.js is a network failure, however it arrives.',
    sabotages: [
      {
        takesOut: 'the codes of sockets',
        file: instance('cluster/failure.ts'),
        symbol: 'isNetworkFailure',
        find: "'code' in error && socketCodes.has(error.code)",
        replace: "'code' in error && socketCodes.has(null)",
        tests: [
          instanceTest(
            'cluster/failure.test.ts',
            'treats a closed socket as a failure of the network, also as Node.js reports it: %s',
          ),
        ],
      },
    ],
  },
  {
    number: 97,
    hazard:
      'A primary steps down while several reads are in flight. The driver keeps an undecoded part of the first ' +
      'error, fails on it at the second, and the migration ends',
    handling: 'Replies to cursor commands are decoded, but for the documents in them.',
    sabotages: [
      {
        takesOut: 'the decoding of what is not a document',
        file: instance('cluster/driver/driver-cursor.ts'),
        symbol: 'send',
        find: '...cursorReplyOptions, ...preference',
        replace: "...cursorReplyOptions, raw: command['find'] !== undefined, ...preference",
        tests: [
          integrationTest(
            'cluster/topology.test.ts',
            'reads in flight survive that a primary steps down: each fails as retryable or succeeds',
          ),
        ],
      },
    ],
  },
];
