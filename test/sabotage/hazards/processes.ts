import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Processes that die, freeze and are replaced; what is equal and yet differs. */
export const processHazards: readonly Hazard[] = [
  {
    number: 68,
    hazard:
      'A read at majority right after a write at majority goes to a primary that was just elected and does not know it yet',
    handling:
      'Every read at majority through a door waits for the operation time of the latest write that was answered through it.',
    sabotages: [
      {
        takesOut: 'the time to wait for',
        file: instance('cluster/driver/own-writes.ts'),
        symbol: 'included',
        find: 'afterClusterTime: this.#latest }',
        replace: '}',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'shows what was written through the door, whichever of its primaries answers',
          ),
        ],
      },
      {
        takesOut: 'the cluster time for another router',
        file: instance('cluster/driver/own-writes.ts'),
        symbol: 'prepare',
        find: 'if (this.#clusterTime !== null) session',
        replace: 'if (this.#clusterTime !== null && this.#latest === null) session',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'a router that did not see a write learns its cluster time with the read that waits for it',
          ),
        ],
      },
      {
        takesOut: 'the time of bulk writes',
        file: instance('cluster/driver/driver-node-client.ts'),
        symbol: 'write',
        find: '    this.ownWrites.answered(reply);\n    return writeOutcome(reply, write);',
        replace: '    return writeOutcome(reply, write);',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'shows what was written through the door, whichever of its primaries answers',
          ),
        ],
      },
    ],
  },
  {
    number: 78,
    hazard:
      'A process that was frozen meets a failure of its own (a stream that it comes too late for, retries that lasted too long) before it knows that another has taken its shares, and ends the migration',
    handling: 'Before a process records a failure it reads who has its shares; one that was replaced ends alone.',
    sabotages: [
      {
        takesOut: 'the look at who has the shares',
        file: instance('lifecycle/run/record-failure.ts'),
        symbol: 'recordFailure',
        find: 'if (await isReplaced().catch(() => false))',
        replace: 'if ((await isReplaced().catch(() => false)) && failure.retry === undefined)',
        tests: [
          instanceTest(
            'lifecycle/run/record-failure.test.ts',
            'a process that was replaced ends with what it meets, and the migration goes on',
          ),
        ],
      },
    ],
  },
  {
    number: 51,
    hazard: "A dead or frozen process's last writes arrive after its successor has begun",
    handling:
      'Writes go in server sessions of the identity, numbered by epoch; a successor fences them on every shard before it reads anything, and an owner the session of every write that it had to send again.',
    sabotages: [
      {
        takesOut: 'the fence of a restarted instance',
        file: instance('lifecycle/run/member.ts'),
        symbol: 'fenceFormerOwner',
        find: 'await new SessionFence(destination, runtime.retrying).stopFormerOwner(sessions, record.epoch, signal);',
        replace: 'void [SessionFence, destination, runtime, sessions, signal];',
        tests: [
          integrationTest(
            'contract/fenced-sessions.test.ts',
            'the servers refuse what a former process of an instance still sends, on every shard',
          ),
        ],
      },
      {
        takesOut: 'the epoch from the numbers of writes',
        file: instance('store/fenced-writer.ts'),
        symbol: 'FencedWriter',
        find: 'const first = BigInt(epoch) * numbersPerEpoch + 1n;',
        replace: 'const first = BigInt(epoch) * 0n + numbersPerEpoch + 1n;',
        tests: [instanceTest('store/fencing.test.ts', 'has a number of its epoch that is never used again')],
      },
      {
        takesOut: 'the look whether every shard has taken the fence',
        file: instance('store/session-fence.ts'),
        symbol: 'send',
        find: 'if (n + stored < this.#write.statements.length) {',
        replace: 'if (outcome.n < 0) {',
        tests: [instanceTest('store/fencing.test.ts', 'that did not change a document on every shard is none')],
      },
      {
        takesOut: 'the question for the owner before a write',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeIn',
        find: 'await this.confirm();',
        replace: '',
        tests: [instanceTest('store/fencing.test.ts', 'is not sent when the owner cannot be confirmed')],
      },
      {
        takesOut: 'the fence behind a write that was sent more than once',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeIn',
        find: "if (sendings > ('error' in answer ? 0 : 1)) {",
        replace: "if (sendings > ('error' in answer ? 0 : 1_000)) {",
        tests: [
          instanceTest(
            'store/fencing.test.ts',
            'that was sent more than once is over when its session is fenced on every shard, under a number of its own',
          ),
          integrationTest(
            'contract/fenced-sessions.test.ts',
            'a copy of a repeated write that a router still holds overwrites nothing newer, where the answered one changed nothing',
          ),
        ],
      },
    ],
  },
  {
    number: 52,
    hazard: 'Deltas that are replayed after a restart or an ambiguous retry misplace fields or fail on arrays',
    handling:
      'A write whose outcome is unknown is sent again under its number; after a restart what may have been applied is read anew.',
    sabotages: [
      {
        takesOut: 'the number of the first sending',
        file: instance('store/fenced-writer.ts'),
        symbol: 'writeIn',
        find: 'return writeTicketed(this.client, write, ticket, signal);',
        replace: 'return writeTicketed(this.client, write, { ...ticket, txnNumber: slot.next++ }, signal);',
        tests: [
          instanceTest(
            'store/fencing.test.ts',
            'whose outcome is unknown, or with a statement that may succeed later, is sent again under its number',
          ),
        ],
      },
      {
        takesOut: 'the doubt about deltas after a restart',
        file: instance('apply/action.ts'),
        symbol: 'update',
        find: "if (event.time <= bounds.watermark) return { kind: 'reread', reason: 'replayedDelta' };",
        replace: '',
        tests: [instanceTest('apply/action.test.ts', 'is a doubt: %s')],
      },
      {
        takesOut: 'the stored time up to which something may have been sent',
        file: instance('apply/apply-worker.ts'),
        symbol: 'send',
        find: 'await this.deps.applyWatermark.cover(batch.last);',
        replace: '',
        tests: [instanceTest('apply/apply-worker.test.ts', 'is covered by begun before it is sent')],
      },
      {
        takesOut: 'the mark of a partition before its first write',
        file: instance('copy/copy-partition.ts'),
        symbol: 'pump',
        find: 'await marked;',
        replace: '',
        tests: [
          instanceTest(
            'copy/marked-before-writing.test.ts',
            'nothing of a partition is written before it is durably marked as dirty',
          ),
        ],
      },
      {
        takesOut: 'the removal of documents that an earlier attempt may have written',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'place',
        find: "const removes = partition.dirty && !collection.capped && event.operation !== 'insert';",
        replace: 'const removes = false as boolean;',
        tests: [
          instanceTest(
            'apply/event-dispatcher.test.ts',
            'that waits dirty removes its document, unless it is an insert',
          ),
        ],
      },
    ],
  },
  {
    number: 53,
    hazard: 'Aggregates have no index bounds, and `$match` brackets types',
    handling:
      'Samples, the only aggregates over documents, are drawn from the whole collection and held against the range here, in the order of the index. The verifier reads ranges by `find` with bounds of the index.',
    sabotages: [
      {
        takesOut: 'the comparison with the range',
        file: instance('copy/starting-points.ts'),
        symbol: 'startingPoints',
        find: '.filter((id) => isInside(id, range))',
        replace: '.filter((id) => id.bytes.length >= 0 || isInside(id, range))',
        tests: [
          instanceTest(
            'copy/starting-points.test.ts',
            'starting points lie inside the range, and a share of a range samples enough for as many readers',
          ),
        ],
      },
    ],
  },
  {
    number: 54,
    hazard:
      'Before 6.0 a write to many documents reports events of orphans too: the deletion of a stale orphan deletes the live document',
    handling:
      'Read directly, events of keys that the shard does not own are dropped; through a router, changes in collections whose chunks have moved are read anew.',
    sabotages: [
      {
        takesOut: 'the owner of an event',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'routeData',
        find: 'if (!isOwned(event, collection)) return;',
        replace: 'void isOwned;',
        tests: [instanceTest('apply/event-dispatcher.test.ts', 'is dropped when another shard owns the document')],
      },
      {
        takesOut: 'the doubt about changes that may be those of orphans',
        file: instance('apply/action.ts'),
        symbol: 'actionOf',
        find: "if (collection.showsOrphans && event.operation !== 'insert') return { kind: 'reread', reason: 'orphanEvent' };",
        replace: '',
        tests: [
          instanceTest(
            'apply/action.test.ts',
            'is in doubt where the stream shows changes of orphans, but for inserts',
          ),
        ],
      },
      {
        takesOut: 'the look whether chunks were ever moved',
        file: instance('lifecycle/task/task-collections.ts'),
        symbol: 'ofRouterTask',
        find: 'entry.sharding?.everMoved === true',
        replace: 'entry.sharding?.everMoved === undefined',
        tests: [
          instanceTest(
            'lifecycle/task/task-collections.test.ts',
            'read by name, from 6.0 on only of their UUID; events of orphans are doubted before 6.0 where chunks were moved',
          ),
        ],
      },
      {
        takesOut: 'the versions of chunks',
        file: instance('catalog/read/read-sharding.ts'),
        symbol: 'readChunks',
        find: 'lastmod.t > 1',
        replace: 'lastmod.t > 1_000_000',
        tests: [
          instanceTest(
            'catalog/read/read-catalog.test.ts',
            'knows by the versions of chunks whether one was ever moved',
          ),
        ],
      },
    ],
  },
  {
    number: 55,
    hazard: 'Two `_id`s that differ in bytes are equal to the index (1 and 1.0, symbol and string, collations)',
    handling: 'Lanes, waves, partitions and the repair set go by id class.',
    sabotages: [
      {
        takesOut: 'numbers of all types as one class',
        file: instance('bson/id-class.ts'),
        symbol: 'classText',
        find: 'case elementType.decimal: return `#${numberText(value)}`;',
        replace: 'case elementType.decimal: return `#${value.type}${numberText(value)}`;',
        tests: [instanceTest('bson/order.test.ts', '%o and its equals have one')],
      },
      {
        takesOut: 'collations',
        file: instance('bson/id-class.ts'),
        symbol: 'idClass',
        find: 'if (collated && containsString(value)) return collatedClass;',
        replace: 'void [collated, containsString, collatedClass];',
        tests: [
          instanceTest(
            'bson/order.test.ts',
            'under a collation is one for all values with a string, and stays apart for others',
          ),
        ],
      },
      {
        takesOut: 'another _id that a collation finds from what is read anew',
        file: instance('store/write-refused.ts'),
        symbol: 'rereadOfRefusal',
        find: "if (collated && code === immutableFieldCode) return 'duplicateKey';",
        replace: 'void [collated, immutableFieldCode];',
        tests: [
          instanceTest(
            'apply/batch-sending.test.ts',
            "is read anew when the collection's collation finds a document with another _id",
          ),
        ],
      },
      {
        takesOut: 'the one statement per class in a wave',
        file: instance('apply/write-batch.ts'),
        symbol: 'place',
        find: 'const before = byClass.get(routed.workerClass);',
        replace:
          'const before = byClass.get(`${routed.workerClass}/${event.time}`);\n  routed.laneClass += `/${event.time}`;',
        tests: [
          instanceTest(
            'apply/apply-worker.test.ts',
            'holds at most one statement per id class; the next one waits for all answers',
          ),
        ],
      },
      {
        takesOut: 'the classes between which a partition is closed',
        file: instance('copy/copy-partition.ts'),
        symbol: 'differ',
        find: 'return idClass(idOf(a), false) !== idClass(idOf(b), false);',
        replace: 'return idClass(idOf(a), false) !== idClass(idOf(b), false) || a !== b;',
        tests: [
          instanceTest(
            'copy/closing-between-classes.test.ts',
            'a partition is not closed between documents that the index finds equal',
          ),
        ],
      },
      {
        takesOut: 'the class of a doubtful key',
        file: instance('store/reread-set.ts'),
        symbol: 'newEntry',
        find: 'idClass: idClass(id, false), dropped: time',
        replace: "idClass: Buffer.from(id.bytes).toString('hex'), dropped: time",
        tests: [instanceTest('store/reread-set.test.ts', 'stands for everything that the index takes for equal')],
      },
    ],
  },
  {
    number: 65,
    hazard: 'One message in a shared Redis makes tasks acknowledge what never was',
    handling:
      'Messages say where to look and never what is to be seen: how far definition changes are known stands in the record. A peer is ready only where its record says so too, and a command is checked as one over HTTP.',
    sabotages: [
      {
        takesOut: 'the record, for whatever was heard to be far ahead',
        file: instance('lifecycle/migration/migration-watch.ts'),
        symbol: 'journalledBy',
        find: 'ddlWatermark: record.ddlWatermark === null ? null : timeOf(record.ddlWatermark.time) };',
        replace: 'ddlWatermark: 2n ** 62n };',
        tests: [
          instanceTest(
            'lifecycle/migration/migration-watch.test.ts',
            'makes an instance believe nothing but the record',
          ),
        ],
      },
      {
        takesOut: 'the pause between two readings',
        file: instance('lifecycle/migration/migration-watch.ts'),
        symbol: 'look',
        find: 'await clock.sleep(this.#pause_ms(), signal);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/migration/migration-watch.test.ts',
            'and says %s without end makes it read no more often than the pause allows',
          ),
        ],
      },
      {
        takesOut: "the record of a peer's copy",
        file: instance('lifecycle/progress/commit-offer.ts'),
        symbol: 'missingElsewhere',
        find: 'if (task?.copyDone !== true || task.paused) return',
        replace: 'if (task?.copyDone === null) return',
        tests: [
          instanceTest(
            'lifecycle/progress/commit-offer.test.ts',
            'of a share %s by its record makes no commit possible',
          ),
        ],
      },
      {
        takesOut: 'the check of a command that comes through Redis',
        file: 'packages/api/src/http/run-command.ts',
        symbol: 'runCommand',
        find: '  parseCommandBody(body ?? {});\n',
        replace: '',
        tests: [instanceTest('process/carry-out.test.ts', 'is refused as one over HTTP is: %s')],
      },
    ],
  },
  {
    number: 85,
    hazard:
      'A write whose answer was lost is sent again, and the server no longer knows whether it was carried out: IncompleteTransactionHistory (217)',
    handling:
      'What it was to write is read anew. A repair sends it again under another number, a capped copy begins again, and a fence stands.',
    sabotages: [
      {
        takesOut: 'the doubt about a refused statement',
        file: instance('store/write-refused.ts'),
        symbol: 'rereadOfRefusal',
        find: "if (code === historyIncompleteCode) return 'unknownOutcome';",
        replace: '',
        tests: [
          instanceTest(
            'apply/batch-sending.test.ts',
            'is read anew when the server no longer knows whether it was carried out',
          ),
          instanceTest(
            'copy/partition-writer.test.ts',
            'a document of which the server no longer knows whether it was written is read anew',
          ),
        ],
      },
      {
        takesOut: 'the doubt about all statements of a refused command',
        file: instance('store/ticketed-write.ts'),
        symbol: 'writeTicketed',
        find: "if (kind === 'outcomeUnknown') return unknownOutcome(write);",
        replace: '',
        tests: [
          instanceTest(
            'store/fencing.test.ts',
            'that was sent again, of which the server no longer knows whether it was carried out, says so of each statement, and is fenced: %s',
          ),
        ],
      },
      {
        takesOut: 'the other number within a repair',
        file: instance('reread/reread-batch.ts'),
        symbol: 'writeKnown',
        find: 'if (outcome.failures.some(({ code }) => code === historyIncompleteCode)) throw new RetryableStatement(historyIncompleteCode);',
        replace: '',
        tests: [
          instanceTest(
            'reread/refused-rereads.test.ts',
            'a document that is to be %s, of which nobody knows whether it was, is so again',
          ),
        ],
      },
      {
        takesOut: 'the new beginning of a capped copy',
        file: instance('copy/capped.ts'),
        symbol: 'insertInOrder',
        find: ' || failure?.code === historyIncompleteCode',
        replace: '',
        tests: [instanceTest('copy/capped.test.ts', 'is begun again when nobody knows whether a document was written')],
      },
      {
        takesOut: 'the fence that stands',
        file: instance('store/session-fence.ts'),
        symbol: 'send',
        find: 'if (n + stored < this.#write.statements.length) {',
        replace: 'if (n < this.#write.statements.length) {',
        tests: [
          instanceTest(
            'store/fencing.test.ts',
            'whose repetition a shard cannot judge any more stands there: it has stored the number',
          ),
        ],
      },
    ],
  },
  {
    number: 92,
    hazard:
      'While a cluster is upgraded, primaries of two releases take turns: what one of them knows, the next one refuses, and the migration ends',
    handling: 'A cluster is dealt with as its feature compatibility version allows, which all of its nodes know.',
    sabotages: [
      {
        takesOut: 'the feature compatibility version',
        file: instance('cluster/topology.ts'),
        symbol: 'readReleases',
        find: 'const version = shared !== null && isOlder(shared, binary) ? shared : binary;',
        replace: 'const version = shared !== null && isOlder(shared, [0, 0, 0]) ? shared : binary;',
        tests: [
          instanceTest('cluster/open-cluster.test.ts', 'where the feature compatibility version is %s'),
          integrationTest('releases/rolling-upgrade.test.ts', 'a node of the older release may become primary again'),
        ],
      },
      {
        takesOut: 'the look at both versions before a commit',
        file: instance('lifecycle/commands/upgraded-source.ts'),
        symbol: 'refuseUpgradedSource',
        find: 'if (destination !== home || !from || !to || !isOlder(to.version, from.version)) return;',
        replace: 'if (destination !== home || !from || !to || !isOlder(from.version, [0, 0, 0])) return;',
        tests: [
          integrationTest(
            'releases/rolling-upgrade.test.ts',
            'a commit is refused by name while the source was upgraded beyond the destination',
          ),
        ],
      },
      {
        takesOut: 'the look at a version that was lowered',
        file: instance('lifecycle/commands/upgraded-source.ts'),
        symbol: 'refuseUpgradedSource',
        find: 'if (to && isOlder(to.version, destination.version)) {',
        replace: 'if (to && isOlder(to.version, [0, 0, 0])) {',
        tests: [
          integrationTest(
            'releases/rolling-upgrade.test.ts',
            'a commit is refused by name while the feature compatibility version of the destination is lower than Convoy found it',
          ),
        ],
      },
    ],
  },
  {
    number: 93,
    hazard:
      'A server ends a connection just when the driver writes to it: the driver passes on what Node.js says of the socket, which looks like a defect, and the migration ends',
    handling: 'What Node.js says of a socket that has ended is a failure of the network, however it arrives.',
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
            'a socket that has ended is a failure of the network, also as Node.js tells it: %s',
          ),
        ],
      },
    ],
  },
];
