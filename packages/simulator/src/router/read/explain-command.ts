import { Int32 } from 'bson';
import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';
import { targetQuery } from '../target/query-targeting.js';

/** `explain` through a router: the plans of the shards that the command would go to, and their sums. */
export async function explainCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const explained = docOf(request.body.get('explain'));
  if (explained === undefined)
    throw new CommandError(
      14,
      'TypeMismatch',
      "BSON field 'explain.explain' is the wrong type, expected type 'object'",
    );
  const [name = ''] = explained.keys();
  const namespace = `${request.db}.${textOrEmpty(explained.get(name))}`;
  const collection = context.catalog.collection(namespace);
  const filter = docOrEmpty(explained.get(name === 'find' ? 'filter' : 'query'));
  const shards =
    collection === undefined
      ? context.holdersOf(namespace)
      : context.shardsOf(targetQuery(collection, filter, explained.get('collation')).shards);
  const plans: Doc[] = [];
  const executions: Doc[] = [];
  for (const shard of shards) {
    const reply = await context.sender.run(shard, request, request.body);
    const own = doc(
      ['shardName', shard.id],
      ['connectionString', shard.connectionString],
      ['serverInfo', reply.get('serverInfo') ?? null],
    );
    plans.push(new Map([...own, ...docOrEmpty(reply.get('queryPlanner'))]));
    const stats = docOf(reply.get('executionStats'));
    if (stats !== undefined) executions.push(new Map([...doc(['shardName', shard.id]), ...stats]));
  }
  const stage = shards.length === 1 ? 'SINGLE_SHARD' : 'SHARD_MERGE';
  const reply = doc([
    'queryPlanner',
    doc(['mongosPlannerVersion', new Int32(1)], ['winningPlan', doc(['stage', stage], ['shards', plans])]),
  ]);
  if (executions.length > 0) reply.set('executionStats', summed(stage, executions));
  return reply.set('command', new Map([...explained, ['$db', request.db]]));
}

function summed(stage: string, executions: readonly Doc[]): Doc {
  const sum = (field: string): Int32 =>
    new Int32(executions.reduce((total, each) => total + (numberOf(each.get(field)) ?? 0), 0));
  return doc(
    ['nReturned', sum('nReturned')],
    ['executionTimeMillis', new Int32(0)],
    ['totalKeysExamined', sum('totalKeysExamined')],
    ['totalDocsExamined', sum('totalDocsExamined')],
    ['executionStages', doc(['stage', stage], ['shards', [...executions]])],
  );
}
