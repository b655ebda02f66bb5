import type { Hazard } from '../hazard.js';
import { instance, instanceTest } from '../places.js';

/** What is damaged when the oplog's diffs are replayed. */
export const diffHazards: readonly Hazard[] = [
  {
    number: 165,
    hazard:
      'An update moves a field to the end of its document: the description by paths shows it as one that changed in ' +
      'place, and sources before 6.0 show no more',
    handling:
      "From 6.0 on Convoy asks for the oplog's diff. What it inserts is put last: by operators if the document has " +
      'no such field, which the filter asks for. Otherwise a pipeline first takes the field out and makes a new ' +
      'document of the rest.',
    sabotages: [
      {
        takesOut: 'the request for diffs',
        file: instance('cluster/change-stream.ts'),
        symbol: 'changeStreamStage',
        find: 'const showsDiffs = options.rawUpdateDescriptions === true && showsRawUpdates(options.version);',
        replace: 'const showsDiffs = options.rawUpdateDescriptions === undefined && showsRawUpdates(options.version);',
        tests: [
          instanceTest('cluster/reading.test.ts', 'asks for diffs of updates from 6.0 on, where the caller wants them'),
        ],
      },
      {
        takesOut: 'the fields that a diff puts last',
        file: instance('apply/delta.ts'),
        symbol: 'wholeFields',
        find: "else if (section.name === 'i') folded.append.set(name, { source, element });",
        replace: "else if (section.name === 'i') folded.set.set(name, { source, element });",
        tests: [
          instanceTest(
            'apply/delta-of-diff.test.ts',
            'keeps the places of updated fields, and puts inserted ones last in its order',
          ),
        ],
      },
      {
        takesOut: 'the new document, which has no places of removed fields',
        file: instance('apply/path-stage.ts'),
        symbol: 'writeWithout',
        find: "builder.end().end().string('1', input).begin('2').begin('$mergeObjects', elementType.array);",
        replace:
          "builder.end().end().string('1', input).begin('2').begin('$ifNull', elementType.array).string('1', input);",
        tests: [
          instanceTest(
            'apply/delta-of-diff.test.ts',
            'keeps the places of updated fields, and puts inserted ones last in its order',
          ),
        ],
      },
      {
        takesOut: 'the second try for documents that have the field',
        file: instance('apply/send-batch.ts'),
        symbol: 'sendPart',
        find: 'if (bulk.addsFields && unmatched > 0) return',
        replace: 'if (bulk.addsFields && unmatched < 0) return',
        tests: [
          instanceTest(
            'apply/send-batch.test.ts',
            'are sent again as pipelines when one of the documents does not match',
          ),
        ],
      },
      {
        takesOut: 'what is dropped when a later update appends a path',
        file: instance('apply/action.ts'),
        symbol: 'mergedPaths',
        find: 'changes = changes.filter(({ path }) => !isWithin(path, change.path));',
        replace: 'changes = [...changes];',
        tests: [instanceTest('apply/delta-of-diff.test.ts', 'are one update: %s')],
      },
    ],
  },
];
