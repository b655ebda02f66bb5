import { hostname } from 'node:os';
import { Int32 } from 'bson';
import { parseCollation } from '../../bson/collation.js';
import type { Doc, Value } from '../../bson/value.js';
import { docOf, docOrEmpty, textOrEmpty } from '../../node/doc-fields.js';
import { failure } from '../failure.js';
import { countedScan, describePlan } from '../read/describe-plan.js';
import { planScan, type ScanRequest } from '../read/scan-plan.js';
import { filteredAccess } from '../read/read-concern.js';
import { letVariables } from './let-variables.js';
import { LATEST } from '../storage/time-key.js';
import type { CommandContext } from './command-context.js';

const VERBOSITIES: ReadonlySet<Value> = new Set(['queryPlanner', 'executionStats', 'allPlansExecution']);

/**
 * `explain` of a read or write: the plan that finds its documents, and with `executionStats` the cost of running it.
 * Nothing is written.
 */
export function explain(context: CommandContext): Doc {
  const { state, request } = context;
  const explained = docOf(request.body.get('explain'));
  if (explained === undefined)
    throw failure.typeMismatch("BSON field 'explain.explain' is the wrong type, expected type 'object'");
  const verbosity = request.body.get('verbosity') ?? 'allPlansExecution';
  if (!VERBOSITIES.has(verbosity))
    throw failure.failedToParse(
      "verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}",
    );
  const [name = ''] = explained.keys();
  const namespace = `${request.db}.${textOrEmpty(explained.get(name))}`;
  const collection = state.catalog.collection(namespace);
  const scan = scanOf(name, explained);
  const plan = collection === undefined ? undefined : planScan(collection, scan);
  const reply: Doc = new Map<string, Value>([
    ['explainVersion', '1'],
    [
      'queryPlanner',
      new Map<string, Value>([
        ['namespace', namespace],
        ['indexFilterSet', false],
        ['parsedQuery', scan.filter],
        ['winningPlan', plan === undefined ? new Map([['stage', 'EOF']]) : describePlan(plan, scan)],
        ['rejectedPlans', []],
      ]),
    ],
  ]);
  if (verbosity !== 'queryPlanner') {
    const variables = letVariables(context);
    const counted =
      collection === undefined || plan === undefined
        ? { found: 0, examined: 0 }
        : countedScan(collection, plan, scan, variables, filteredAccess(request));
    reply.set(
      'executionStats',
      new Map<string, Value>([
        ['executionSuccess', true],
        ['nReturned', new Int32(counted.found)],
        ['executionTimeMillis', new Int32(0)],
        ['totalKeysExamined', new Int32(plan?.index === undefined ? 0 : counted.examined)],
        ['totalDocsExamined', new Int32(counted.examined)],
      ]),
    );
  }
  return reply
    .set('command', new Map<string, Value>([...explained, ['$db', request.db]]))
    .set('serverInfo', serverInfo(context));
}

/** The documents that a command selects. */
function scanOf(name: string, body: Doc): ScanRequest {
  const collation = docOf(body.get('collation'));
  const common = {
    hint: body.get('hint'),
    min: docOf(body.get('min')),
    max: docOf(body.get('max')),
    collation: collation === undefined ? undefined : parseCollation(collation),
    time: LATEST,
  };
  const sort = docOf(body.get('sort'));
  switch (name) {
    case 'find':
      return { ...common, filter: docOrEmpty(body.get('filter')), sort };
    case 'count':
    case 'distinct':
    case 'findAndModify':
      return { ...common, filter: docOrEmpty(body.get('query')), sort };
    case 'update':
    case 'delete': {
      const statements = body.get(name === 'update' ? 'updates' : 'deletes');
      const first = Array.isArray(statements) ? docOrEmpty(statements[0]) : new Map<string, Value>();
      return { ...common, filter: docOrEmpty(first.get('q')), hint: first.get('hint'), sort: undefined };
    }
    case 'aggregate': {
      const stages = body.get('pipeline');
      const first = Array.isArray(stages) ? docOf(stages[0]) : undefined;
      return { ...common, filter: docOrEmpty(first?.get('$match')), sort: docOf(first?.get('$sort')) };
    }
    default:
      throw failure.badValue(`Explain failed due to unknown command: ${name}`);
  }
}

function serverInfo({ state }: CommandContext): Doc {
  return new Map<string, Value>([
    ['host', hostname()],
    ['port', new Int32(state.options.port)],
    ['version', state.version.text],
  ]);
}
