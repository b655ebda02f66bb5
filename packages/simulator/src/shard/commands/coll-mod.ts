import { Long } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { documentText } from '../../bson/text.js';
import { failure } from '../failure.js';
import type { Collection } from '../storage/collection.js';
import type { IndexDefinition } from '../storage/collection-index.js';
import { timeKey } from '../storage/time-key.js';
import { storeView } from '../write/view-catalog.js';
import { refuseCycle, viewDefinition } from './create.js';
import { refuseUnknownFields, targetNamespace, type CommandContext } from './command-context.js';

const FIELDS: ReadonlySet<string> = new Set([
  'index', 'validator', 'validationLevel', 'validationAction', 'viewOn', 'pipeline', 'recordPreImages', 'expireAfterSeconds', 'timeseries', 'isTimeseriesNamespace',
]);
const INDEX_FIELDS: ReadonlySet<string> = new Set(['name', 'keyPattern', 'expireAfterSeconds', 'hidden']);
const VALIDATION: readonly string[] = ['validator', 'validationLevel', 'validationAction', 'recordPreImages'];

/** `collMod`: changes an index, the validation or a view. Replies with old and new values of what changed of an index. */
export function collMod(context: CommandContext): Doc {
  const { state, request } = context;
  refuseUnknownFields(context, FIELDS);
  const namespace = targetNamespace(context);
  const { body } = request;
  const index = body.get('index');
  if (index instanceof Map) {
    for (const name of index.keys()) if (!INDEX_FIELDS.has(name)) throw failure.unknownField(`collMod.index.${name}`);
  }
  const view = state.catalog.view(namespace);
  if (view !== undefined) {
    if (body.has('viewOn')) {
      const definition = viewDefinition(body);
      refuseCycle(state, namespace, definition.viewOn);
      storeView(state, { ...view, ...definition });
    }
    return new Map();
  }
  const collection = state.catalog.collection(namespace);
  if (collection === undefined) throw failure.namespaceNotFound('ns does not exist');
  if (body.has('viewOn')) throw failure.invalidOptions('option only supported on a view: viewOn');
  const reply: Doc = new Map();
  if (index instanceof Map) changeIndex(collection, index, reply);
  changeValidation(collection, body);
  const clusterTime = state.oplog.nextTime();
  collection.minimumVisibleTime = timeKey(clusterTime);
  state.oplog.append(clusterTime, [{ kind: 'silent', note: new Map([['collMod', namespace]]) }]);
  return reply;
}

function changeValidation(collection: Collection, body: Doc): void {
  const options: Doc = new Map(collection.options);
  for (const name of VALIDATION) {
    const value = body.get(name);
    if (value !== undefined) options.set(name, value);
  }
  const validator = options.get('validator');
  if (validator instanceof Map && validator.size === 0) options.delete('validator');
  if (body.has('validator')) {
    if (!options.has('validationLevel')) options.set('validationLevel', 'strict');
    if (!options.has('validationAction')) options.set('validationAction', 'error');
  }
  collection.options = options;
}

function changeIndex(collection: Collection, change: Doc, reply: Doc): void {
  const definition = wantedIndex(collection, change);
  const spec: Doc = new Map(definition.spec);
  const seconds = change.get('expireAfterSeconds');
  if (seconds !== undefined) {
    const old = spec.get('expireAfterSeconds');
    if (old === undefined) throw failure.invalidOptions('no expireAfterSeconds field to update');
    spec.set('expireAfterSeconds', Long.fromNumber(numberOf(seconds) ?? 0));
    reply.set('expireAfterSeconds_old', old).set('expireAfterSeconds_new', seconds);
  }
  const hidden = change.get('hidden');
  if (hidden !== undefined) {
    if (definition.name === '_id_') throw failure.badValue("can't hide _id index");
    reply.set('hidden_old', isTrue(spec.get('hidden'))).set('hidden_new', isTrue(hidden));
    if (isTrue(hidden)) spec.set('hidden', true);
    else spec.delete('hidden');
  }
  definition.spec = spec;
}

function wantedIndex(collection: Collection, change: Doc): IndexDefinition {
  const name = change.get('name');
  const pattern = change.get('keyPattern');
  if (typeof name !== 'string' && !(pattern instanceof Map)) throw failure.invalidOptions('Must specify either index name or key pattern.');
  const key = pattern instanceof Map ? encodeDocument(pattern) : undefined;
  const found = collection.indexes.find(({ definition }) =>
    key === undefined ? definition.name === name : encodeDocument(definition.spec.get('key') as Doc).equals(key),
  );
  if (found !== undefined) return found.definition;
  const wanted = pattern instanceof Map ? documentText(pattern) : typeof name === 'string' ? name : '';
  throw new CommandError(27, 'IndexNotFound', `cannot find index ${wanted} for ns ${collection.namespace}`);
}
