import type { Doc, Value } from '../../bson/value.js';
import { waitWithin } from '../command-limits.js';
import { targetNamespace, type CommandContext, type CommandHandler } from './command-context.js';

/** The collections that a DDL change needs for itself. */
type Needed = (context: CommandContext) => readonly string[];

/** A DDL change that waits for the transactions that use its collections. */
export function alone(handler: CommandHandler, needed: Needed): CommandHandler {
  return (context) => {
    const namespaces = needed(context);
    const { transaction } = context.participation;
    return context.state.exclusive.user(namespaces, transaction) === undefined
      ? handler(context)
      : afterOthers(context, namespaces, handler);
  };
}

async function afterOthers(
  context: CommandContext,
  namespaces: readonly string[],
  handler: CommandHandler,
): Promise<Doc> {
  const { state, request, participation } = context;
  const before = state.interruption.count;
  await state.exclusive.freed(namespaces, participation.transaction, async (ended) => {
    await waitWithin(ended, request.body, request.signal);
    state.interruption.refuseSince(before);
  });
  return state.writeBlock.actAs(request.connection, () => handler(context));
}

/** The collection of a command, whether it exists or not. */
export const named: Needed = (context) => [targetNamespace(context)];

/** The collection of a command if it exists: others refuse a name before they wait. */
export const existing: Needed = (context) => {
  const namespace = targetNamespace(context);
  return context.state.catalog.outside().collection(namespace) === undefined ? [] : [namespace];
};

/** The collection of `createIndexes` if it exists and lacks one of the indexes. */
export const withNewIndexes: Needed = (context) => {
  const specs = context.request.body.get('indexes');
  const [namespace] = existing(context);
  if (namespace === undefined || !Array.isArray(specs)) return [];
  const indexes = context.state.catalog.collection(namespace)?.indexes ?? [];
  const isPresent = (spec: Value): boolean =>
    indexes.some(({ definition }) => spec instanceof Map && definition.name === spec.get('name'));
  return specs.every(isPresent) ? [] : [namespace];
};

/** Both names of `renameCollection`. */
export const renamed: Needed = ({ state, request: { body } }) =>
  [body.get('renameCollection'), body.get('to')].filter(
    (name): name is string => typeof name === 'string' && state.catalog.collection(name) !== undefined,
  );

/** All collections of a database that a transaction may use. */
export const usedInDatabase: Needed = ({ state, request: { db } }) =>
  state.catalog.collectionsOf(db).map(({ namespace }) => namespace);
