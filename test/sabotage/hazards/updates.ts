import type { Hazard } from '../hazard.js';
import { instance, instanceTest } from '../places.js';

/** What is lost or damaged when updates are replayed. */
export const updateHazards: readonly Hazard[] = [
  {
    number: 20,
    hazard: 'A delta that is applied to a newer document fails or misplaces fields (codes 28, 29)',
    handling:
      'Only events after the reading time of their partition or re-read are applied. If the server refuses a delta, ' +
      'the document is re-read.',
    sabotages: [
      {
        takesOut: 'the lower bound of the reading time when a partition with too many re-reads is copied again',
        file: instance('lifecycle/task/reread-relief.ts'),
        symbol: 'begin',
        find: 'partition.reopen(this.stages.dispatcher.latest);',
        replace: 'partition.reopen(0n);',
        tests: [
          instanceTest(
            'lifecycle/task/reread-relief.test.ts',
            'has it copied at a time that is not below any dispatched event, once its keys are gone',
          ),
        ],
      },
      {
        takesOut: 'the stored state of such a partition before it counts',
        file: instance('lifecycle/task/reread-relief.ts'),
        symbol: 'begin',
        find: 'await table.persist();',
        replace: 'void table.persist;',
        tests: [
          instanceTest(
            'lifecycle/task/reread-relief.test.ts',
            'gives up the partition with most of its keys, durably first',
          ),
        ],
      },
      {
        takesOut: 'the comparison with the reading time',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'place',
        find: 'const seen = partition.readTime !== null && event.time <= partition.readTime;',
        replace: 'const seen = partition.readTime !== null && event.time < partition.readTime;',
        tests: [instanceTest('apply/event-dispatcher.test.ts', 'at or below the read time is dropped while it is %s')],
      },
      {
        takesOut: 'the reading time of a re-read',
        file: instance('store/reread-set.ts'),
        symbol: 'absorb',
        find: "isIncluded(event, collection, this.#readings.get(key)) ? 'dropped' : false",
        replace: 'false',
        tests: [
          instanceTest(
            'apply/apply-workers-batches.test.ts',
            'events that a re-read has included are dropped when they arrive after it',
          ),
        ],
      },
      {
        takesOut: 'the re-read for refused deltas',
        file: instance('apply/send-batch.ts'),
        symbol: 'rereadOf',
        find: "if (bulk.kind === 'delta') return rereadRequest(item, 'inexactDelta');",
        replace: '',
        tests: [instanceTest('apply/send-batch.test.ts', 'is re-read: code %i')],
      },
    ],
  },
  {
    number: 21,
    hazard: 'An update truncates an array and sets elements of it',
    handling: 'Changes that could disturb each other are separate stages. A truncation keeps the first elements.',
    sabotages: [
      {
        takesOut: 'truncations',
        file: instance('apply/delta-paths.ts'),
        symbol: 'pathChanges',
        find: 'if (truncated !== null) {',
        replace: 'if (truncated !== null && truncated.length < 0) {',
        tests: [instanceTest('apply/delta.test.ts', 'with %s is replayed by its first elements')],
      },
      {
        takesOut: 'the check that the path to the array is plain',
        file: instance('apply/delta-paths.ts'),
        symbol: 'pathOf',
        find: "return text.includes('.') ? null : [text];",
        replace: "return text.split('.');",
        tests: [
          instanceTest(
            'apply/delta.test.ts',
            'with an embedded truncated array cannot be replayed exactly without disambiguatedPaths',
          ),
        ],
      },
    ],
  },
  {
    number: 22,
    hazard: 'A huge update as one pipeline exceeds limits of stages and buffers',
    handling: 'Documents of updates above 4 MB are re-read. Updates are folded up to that size and 200 stages.',
    sabotages: [
      {
        takesOut: 'the bound in bytes',
        file: instance('apply/delta.ts'),
        symbol: 'deltaOf',
        find: 'if (description.length > deltaBytesMax) return null;',
        replace: '',
        tests: [instanceTest('apply/delta.test.ts', 'of more than 4 MB is not replayed')],
      },
      {
        takesOut: 'the bound in stages',
        file: instance('apply/action.ts'),
        symbol: 'mergedPaths',
        find: ' || changes.length > deltaStagesMax) return null;',
        replace: ') return null;',
        tests: [instanceTest('apply/delta.test.ts', 'stay two updates when they are too large for one')],
      },
    ],
  },
  {
    number: 23,
    hazard: '`a.0` is an array index or a field name; field names contain dots or begin with `$`',
    handling:
      "From 6.0 on the oplog's diff shows the parts of a path; before, documents of ambiguous paths are re-read. " +
      'Special names are passed as literals, and documents are written as literal values.',
    sabotages: [
      {
        takesOut: 'dots, in what is ambiguous',
        file: instance('apply/delta-paths.ts'),
        symbol: 'pathOf',
        find: "return text.includes('.') ? null : [text];",
        replace: "return text.split('.');",
        tests: [instanceTest('apply/delta.test.ts', 'with %s cannot be replayed exactly')],
      },
      {
        takesOut: 'the parts that the server reports',
        file: instance('apply/delta-paths.ts'),
        symbol: 'pathOf',
        find: 'const stated = findElement(disambiguated, text);',
        replace: "const stated = findElement(disambiguated, '');",
        tests: [instanceTest('apply/delta.test.ts', 'uses disambiguatedPaths where the server reports them')],
      },
      {
        takesOut: 'dollars, in the names that need literals',
        file: instance('apply/delta-paths.ts'),
        symbol: 'isPlainName',
        find: "!name.startsWith('$') && ",
        replace: '',
        tests: [
          instanceTest('apply/delta.test.ts', 'with a name that %s is replayed by an expression with the literal name'),
        ],
      },
      {
        takesOut: 'the pipeline that keeps whole documents unchanged',
        file: instance('bson/build.ts'),
        symbol: 'replaceStatement',
        find: "    .begin('$replaceWith')\n    .document('$literal', document)\n    .end()",
        replace: "    .document('$replaceWith', document)",
        tests: [instanceTest('bson/build.test.ts', 'replace whole documents by a pipeline that keeps them unchanged')],
      },
      {
        takesOut: 'the literal form of values that are set',
        file: instance('apply/path-stage.ts'),
        symbol: 'writeValue',
        find: "builder.begin(name).raw('$literal', value).end();",
        replace: 'builder.raw(name, value);',
        tests: [
          instanceTest('apply/delta.test.ts', 'with a name that %s is replayed by an expression with the literal name'),
        ],
      },
    ],
  },
  {
    number: 196,
    hazard:
      'A stream describes what was added to the end of a compressed column of a bucket as if it were the whole ' +
      'column: applied, it destroys the measurements before',
    handling: 'A bucket of a time series that has changed is re-read, and written whole.',
    sabotages: [
      {
        takesOut: 'the re-read',
        file: instance('apply/action.ts'),
        symbol: 'actionOf',
        find: "return { kind: 'reread', reason: 'bucket' };",
        replace: '{}',
        tests: [instanceTest('apply/action.test.ts', 'is a re-read for a changed bucket, and exact for a new one')],
      },
    ],
  },
  {
    number: 197,
    hazard:
      'A stream names a bucket that took more measurements by `_id` alone, also of a sharded time series: it looks ' +
      'as if the shard with the lowest keys owned it, and the others lose the change',
    handling: 'Every task that hears of the change reads the bucket again, and writes it if it owns what it has read.',
    sabotages: [
      {
        takesOut: 'the change of a bucket of unknown owner',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'isOwnedBucket',
        find: "if (operation === 'update') return true;",
        replace: '',
        tests: [
          instanceTest(
            'apply/event-dispatcher.test.ts',
            'that took more measurements, whose key is its _id alone, goes to every task',
          ),
        ],
      },
    ],
  },
  {
    number: 24,
    hazard: '`fullDocument` is missing, because the document was deleted meanwhile',
    handling: 'The document is re-read: if it is gone, it is deleted.',
    sabotages: [
      {
        takesOut: 'the re-read; an error is thrown instead',
        file: instance('apply/action.ts'),
        symbol: 'wholeDocument',
        find: "if (document === null) return { kind: 'reread', reason: 'inexactDelta' };",
        replace: "if (document === null) throw new RangeError('an event without document');",
        tests: [instanceTest('apply/action.test.ts', 'is a re-read: %s')],
      },
      {
        takesOut: 'the deletion of a document that is gone',
        file: instance('reread/reread-batch.ts'),
        symbol: 'rereadBatch',
        find: "await sendSteps('delete', removals(batch, upserts, present), batch);",
        replace: 'void removals;',
        tests: [
          instanceTest(
            'reread/rereader.test.ts',
            'is deleted under its key on the destination when the source no longer has it',
          ),
        ],
      },
    ],
  },
  {
    number: 25,
    hazard: 'The order of fields drifts when sets are replayed',
    handling:
      "Deltas are pipelines, or operators where these keep the source's order too. Several fields are set in the " +
      'order in which the updates added them.',
    sabotages: [
      {
        takesOut: 'what is known of places, in operators for paths',
        file: instance('apply/write-delta.ts'),
        symbol: 'writeOperators',
        find: 'return delta.setsPresent && setAndUnsetPaths(builder, delta.changes);',
        replace: 'return setAndUnsetPaths(builder, delta.changes);',
        tests: [
          instanceTest(
            'apply/delta-operators.test.ts',
            'are not known by a description of paths, which stays a pipeline',
          ),
        ],
      },
      {
        takesOut: 'the pipeline of a document that is set and then changed',
        file: instance('apply/write-delta.ts'),
        symbol: 'setAndUnsetPaths',
        find: 'if (!changes.every(isForOperators) || !areApart(changes)) return false;',
        replace: 'void areApart;\n  if (!changes.every(isForOperators)) return false;',
        tests: [instanceTest('apply/delta-operators.test.ts', 'are sent as a pipeline: %s')],
      },
      {
        takesOut: 'the order in which several updates added fields',
        file: instance('apply/write-delta.ts'),
        symbol: 'writeFolded',
        find: 'of set.values()) builder.copiedAsLiteral',
        replace: 'of [...set.values()].reverse()) builder.copiedAsLiteral',
        tests: [
          instanceTest(
            'apply/delta.test.ts',
            'fold into one set and one unset, each field at the position of its first value',
          ),
        ],
      },
      {
        takesOut: 'the place of fields that change in a document of the same batch',
        file: instance('apply/action.ts'),
        symbol: 'fieldsChanged',
        find: 'if (change === undefined) builder',
        replace: 'if (change !== undefined) continue;\n    else if (change === undefined) builder',
        tests: [
          instanceTest('apply/action-on-document.test.ts', 'keeps the position of fields and adds new ones last'),
        ],
      },
    ],
  },
  {
    number: 26,
    hazard: 'The server rewrites a top-level `Timestamp(0,0)` on insert',
    handling: 'Such documents are written by a pipeline, by copy and apply.',
    sabotages: [
      {
        takesOut: 'the pipeline for events',
        file: instance('apply/action.ts'),
        symbol: 'wholeDocument',
        find: "hasZeroTimestamp(document) ? 'upsert' : kind",
        replace: 'kind',
        tests: [
          instanceTest('apply/action.test.ts', 'upserts a document with Timestamp(0,0), which an insert would change'),
        ],
      },
      {
        takesOut: 'the pipeline for folded events',
        file: instance('apply/action.ts'),
        symbol: 'foldActions',
        find: "earlier.kind === 'insert' && !hasZeroTimestamp(later.document)",
        replace: "earlier.kind === 'insert'",
        tests: [instanceTest('apply/action.test.ts', '%s, then %s')],
      },
      {
        takesOut: 'the pipeline in the copy',
        file: instance('copy/partition-writer.ts'),
        symbol: 'sorted',
        find: 'documents.map(hasZeroTimestamp)',
        replace: 'documents.map((document) => document.length === 0 && hasZeroTimestamp(document))',
        tests: [
          instanceTest(
            'copy/partition-writer.test.ts',
            'documents with Timestamp(0,0), which an insert would change, are upserted',
          ),
        ],
      },
    ],
  },
  {
    number: 59,
    hazard:
      'A field that one update removes and a later one sets moves to the end of its document; within one pipeline ' +
      'servers keep its place',
    handling:
      'Sources from 6.0 on show that the field comes last. Updates of earlier ones are not folded into one pipeline: ' +
      'the later one is sent once the earlier one is answered.',
    sabotages: [
      {
        takesOut: 'the check for fields that are set again',
        file: instance('apply/action.ts'),
        symbol: 'mergeDeltas',
        find: 'if (earlier.removed.size > 0 && changesAnyOf(later, earlier.removed)) return null;',
        replace: '',
        tests: [
          instanceTest(
            'apply/delta.test.ts',
            'stay two updates when the later one sets %s that the earlier one removes',
          ),
        ],
      },
      {
        takesOut: 'the fields that updates in between left alone',
        file: instance('apply/action.ts'),
        symbol: 'mergeDeltas',
        find:
          'const removed = later.removed.size === 0 ? earlier.removed : new Set([...earlier.removed, ' +
          '...later.removed]);',
        replace: 'const { removed } = later;',
        tests: [
          instanceTest(
            'apply/delta.test.ts',
            'stay two updates when the later one sets %s that the earlier one removes',
          ),
        ],
      },
    ],
  },
  {
    number: 120,
    hazard: 'Folding two changes of one path skips a change between them that replaces what the path lies in',
    handling:
      'The later value replaces the earlier one only if no change between them touches the path, what it lies in or ' +
      'what lies in it. Changes that touch each other are separate stages.',
    sabotages: [
      {
        takesOut: 'the look at the changes between them',
        file: instance('apply/action.ts'),
        symbol: 'replaceable',
        find: 'if (change === undefined || !isRelated(change.path, later.path)) continue;',
        replace: 'if (change === undefined || !pathsEqual(change.path, later.path)) continue;',
        tests: [
          instanceTest(
            'apply/delta.test.ts',
            'set a path again in a stage of its own when an update between them touches what it is inside of',
          ),
        ],
      },
      {
        takesOut: 'the end of a stage at a change that touches another',
        file: instance('apply/write-delta.ts'),
        symbol: 'plainRun',
        find: 'if (leadThere.has(pathKey(change.path)) || keys.some((key) => taken.has(key))) break;',
        replace: '',
        tests: [
          instanceTest(
            'apply/delta.test.ts',
            'set a path again in a stage of its own when an update between them touches what it is inside of',
          ),
        ],
      },
    ],
  },
  {
    number: 63,
    hazard: 'Field names and strings that are not UTF-8 are rewritten with U+FFFD, or make malformed BSON',
    handling: 'A string stands for exactly its bytes and is written as these. The driver never encodes it.',
    sabotages: [
      {
        takesOut: 'the bytes when names are read',
        file: instance('bson/utf8.ts'),
        symbol: 'decodeUtf8',
        find: 'return text.includes(replacement) ? decodeBytes(bytes.subarray(start, end)) : text;',
        replace:
          'return text.includes(replacement) && text.length === 0 ? decodeBytes(bytes.subarray(start, end)) : text;',
        tests: [
          instanceTest('bson/utf8.test.ts', 'any bytes are restored from their text'),
          instanceTest(
            'apply/action-on-document.test.ts',
            'keeps the bytes of names that are not UTF-8, and distinguishes them',
          ),
          instanceTest('apply/delta.test.ts', 'keep the bytes of names that are not UTF-8'),
        ],
      },
      {
        takesOut: 'the bytes when names are written',
        file: instance('bson/build.ts'),
        symbol: 'header',
        find: 'encodeUtf8(name).copy(this.buffer, nameStart)',
        replace: "this.buffer.write(name, nameStart, 'utf8')",
        tests: [
          instanceTest(
            'apply/action-on-document.test.ts',
            'keeps the bytes of names that are not UTF-8, and distinguishes them',
          ),
          instanceTest('apply/delta.test.ts', 'keep the bytes of names that are not UTF-8'),
        ],
      },
      {
        takesOut: 'the refusal to let the driver write them',
        file: instance('cluster/driver/driver-sequence.ts'),
        symbol: 'decodedStatements',
        find: 'if (isLossless(new RawValue(elementType.document, statement))) return',
        replace: 'if (isLossless(new RawValue(elementType.document, statement)) || statement.length > 0) return',
        tests: [
          instanceTest(
            'cluster/driver/driver-sequence.test.ts',
            'are refused through the public API if the driver would change them',
          ),
        ],
      },
    ],
  },
];
