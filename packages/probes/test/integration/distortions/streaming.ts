import type { Document } from 'mongodb';
import {
  acceptedCode,
  accepted,
  batch,
  both,
  cursor,
  type Distortion,
  each,
  events,
  eventsWith,
  isFind,
  none,
  on,
  oneUuid,
  refused,
  repeated,
  uuids,
  where,
  without,
} from './distortion.js';

/** A document with its fields in the other order. */
function turned(document: unknown): Document {
  return Object.fromEntries(Object.entries(document as Document).reverse());
}

/** Alters update descriptions. */
function described(set: Document): Distortion {
  return events((event) => [
    event['updateDescription'] === undefined
      ? event
      : { ...event, updateDescription: { ...(event['updateDescription'] as Document), ...set } },
  ]);
}

const isEmptyBatch = on('getMore', cursor({ postBatchResumeToken: { _data: '8200000001000000012B0229296E04' } }));
const keyAlone = events((event) => [
  { ...event, documentKey: { _id: (event['documentKey'] as Document | undefined)?.['_id'] as unknown } },
]);
const otherToken = events((event) => [{ ...event, _id: { _data: '8200000001000000012B022C0100296E04' } }]);
/** Shows events of several shards once, and those of a single shard never. */
const onlyFirst = ((): Distortion => {
  const seen = new Set<string>();
  return events((event) => {
    const key = JSON.stringify([event['operationType'], event['ns']]);
    const isFirst = !seen.has(key);
    seen.add(key);
    return isFirst ? [event] : [];
  });
})();

/** Shows the creation of the last created collection. */
const creation = ((): Distortion => {
  let ns: Document = {};
  return ({ command, db }, reply) => {
    if (typeof command['create'] === 'string') ns = { db, coll: command['create'] };
    if (command['getMore'] === undefined) return reply;
    return batch((documents) => [{ _id: { _data: '' }, operationType: 'create', ns }, ...documents])(reply, command);
  };
})();

/** Streams that show something else. */
export const streamingDistortions: Readonly<Record<string, Distortion>> = {
  'insert-and-replace-bring-the-document': events((event) => [
    { ...event, fullDocument: turned(event['fullDocument']) },
  ]),
  'update-description': described({ truncatedArrays: [] }),
  'array-elements-by-index': described({ updatedFields: { list: [] } }),
  'ambiguous-paths': described({ disambiguatedPaths: {} }),
  'raw-update-descriptions': eventsWith({ rawUpdateDescription: { $v: 2, diff: { u: { b: 2 } } } }),
  'nothing-changed-shows-nothing': repeated('update'),
  'keys-hold-the-shard-key': keyAlone,
  'insert-keys-on-shards': eventsWith({ documentKey: { other: 1 } }),
  'new-shard-key-on-one-shard': keyAlone,
  'new-shard-key-on-another-shard': events((event) => [{ ...event, txnNumber: Math.random() }]),
  'moved-chunks-show-nothing': repeated('insert'),
  'moved-documents-are-read-once': where(isFind, (reply) => each({ moved: true })(reply, {})),

  'start-time-is-inclusive': without('insert'),
  'tokens-begin-with-the-time': otherToken,
  'tokens-name-the-uuid': otherToken,
  'empty-batches-move-on': isEmptyBatch,
  'token-is-a-lower-bound': both(
    without('update'),
    events((event) => ((event['documentKey'] as Document)['_id'] === 2 ? [] : [event])),
  ),
  'lost-history-is-reported': both(on('aggregate', accepted), on('find', each({ op: 'u' }))),
  'unknown-options-are-refused': on('aggregate', accepted),
  'router-brings-time-order': events((event) => ((event['documentKey'] as Document)['_id'] === 5 ? [] : [event])),
  'transaction-has-one-time': eventsWith({ lsid: { id: oneUuid } }),
  'transaction-over-shards-shows-both-parts': eventsWith({ lsid: { id: oneUuid } }),
  'one-stream-shows-all': without('drop'),
  'streams-are-filtered-by-kind': without('drop'),
  'large-events-are-split': on('getMore', (reply) => (reply['ok'] === 1 ? reply : accepted(reply))),

  'drop-and-rename-are-shown': without('rename'),
  'rename-over-a-target': uuids(Math.random),
  'drops-of-sharded-collections': onlyFirst,
  'renames-of-sharded-collections': onlyFirst,
  'convert-to-capped-is-a-rename': without('rename'),
  'out-is-a-rename': without('rename'),
  'drop-database-shows-its-drops': without('drop'),
  'definitions-are-not-shown': creation,
  'definitions-are-shown': without('modify'),
  'create-brings-options-and-uuid': eventsWith({ collectionUUID: oneUuid }),
  'shard-collection-is-shown': repeated('shardCollection'),
  'refined-keys-are-shown': without('refineCollectionShardKey'),
  'views-are-shown': eventsWith({ operationDescription: {} }),
  'drops-of-views-name-no-uuid': eventsWith({ collectionUUID: oneUuid }),

  'repeated-definitions': on('createIndexes', refused(85)),
  'rename-onto-itself-is-refused': on('renameCollection', accepted),
  'unique-beside-plain': where(
    (command) => (command['indexes'] as Document[] | undefined)?.[0]?.['unique'] === true,
    refused(85),
  ),
  'unique-over-duplicates-is-refused': on('createIndexes', accepted),
  'convert-to-unique': on('collMod', (reply) => ({ ...reply, violations: [], raw: {} })),
  'ttl-is-switched-off-and-on': on('collMod', refused(67)),
  'hidden-indexes': on('listIndexes', each({ hidden: true })),
  'capped-sizes-are-changed': on('collMod', accepted),
  'ranges-in-the-config-database': where((command) => command['find'] === 'chunks', none),
  'moves-raise-versions': where((command) => command['find'] === 'chunks', each({ lastmod: { t: 1 } })),
  'views-are-not-collections': on('listCollections', each({ type: 'collection' })),
  'options-come-back': on('listCollections', each({ options: {} })),
  'index-options-come-back': on('listIndexes', each({ unique: false })),
  'capped-sizes-come-back': on('listCollections', each({ options: { size: 131_072 } })),
  'time-series-are-shown': on('listCollections', each({ type: 'collection' })),
  'clustered-index-is-shown': on('listIndexes', each({ clustered: false })),
  'last-key-index-is-not-dropped': acceptedCode(370),
  'last-key-index-is-not-hidden': acceptedCode(72),
  'wrong-uuid-of-a-definition-is-refused': where((command) => command['collMod'] !== undefined, accepted),
};
