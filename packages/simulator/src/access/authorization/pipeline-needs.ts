import type { Doc, Value } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { docOf, docOrEmpty, isTrue, textOrEmpty } from '../../node/doc-fields.js';
import {
  anyNormalResource,
  clusterResource,
  databaseResource,
  namespaceResource,
  type Resource,
} from '../privilege/resource.js';
import { namedResource, type Need } from './need.js';

/** What an aggregation reads and writes: its own collection by its first stage, others by the stages that name them. */
export function aggregateNeeds(request: CommandRequest): Need[] {
  const stages = stagesOf(request.body.get('pipeline'));
  const needs = [
    ...sourceNeeds(namedResource(request), stages[0]),
    ...stages.flatMap((stage) => stageNeeds(request.db, stage)),
  ];
  return isTrue(request.body.get('bypassDocumentValidation'))
    ? [...needs, { resource: namedResource(request), actions: ['bypassDocumentValidation'] }]
    : needs;
}

/** What the pipeline of a view or stage reads beyond its input collection. */
export function pipelineNeeds(db: string, collection: string, pipeline: Value | undefined): Need[] {
  const stages = stagesOf(pipeline);
  const source: Resource = namespaceResource(db, collection);
  return [...sourceNeeds(source, stages[0]), ...stages.flatMap((stage) => stageNeeds(db, stage))];
}

function stagesOf(pipeline: Value | undefined): Doc[] {
  return (Array.isArray(pipeline) ? pipeline : []).flatMap((stage) => docOf(stage) ?? []);
}

function sourceNeeds(source: Resource, first: Doc | undefined): Need[] {
  const [name, options] = first?.entries().next().value ?? [];
  switch (name) {
    case '$changeStream': {
      const whole = isTrue(docOrEmpty(options).get('allChangesForCluster'));
      return [{ resource: whole ? anyNormalResource : source, actions: ['changeStream', 'find'] }];
    }
    case '$collStats':
      return [{ resource: source, actions: ['collStats'] }];
    case '$indexStats':
      return [{ resource: source, actions: ['indexStats'] }];
    case '$currentOp':
      return isTrue(docOrEmpty(options).get('allUsers')) ? [{ resource: clusterResource, actions: ['inprog'] }] : [];
    case '$listSessions':
    case '$listLocalSessions':
      return isTrue(docOrEmpty(options).get('allUsers'))
        ? [{ resource: clusterResource, actions: ['listSessions'] }]
        : [];
    case '$documents':
      return [];
    default:
      return [{ resource: source, actions: ['find'] }];
  }
}

function stageNeeds(db: string, stage: Doc): Need[] {
  const [name, options] = stage.entries().next().value ?? [];
  const fields = docOrEmpty(options);
  switch (name) {
    case '$lookup':
    case '$graphLookup':
      return joined(db, fields.get('from'), fields.get('pipeline'));
    case '$unionWith':
      return joined(db, typeof options === 'string' ? options : fields.get('coll'), fields.get('pipeline'));
    case '$facet':
      return [...fields.values()].flatMap((each) => stagesOf(each).flatMap((inner) => stageNeeds(db, inner)));
    case '$out':
      return [{ resource: outputOf(db, options), actions: ['insert', 'remove'] }];
    default:
      return [];
  }
}

function joined(db: string, from: Value | undefined, pipeline: Value | undefined): Need[] {
  if (from instanceof Map)
    return pipelineNeeds(textOrEmpty(from.get('db')) || db, textOrEmpty(from.get('coll')), pipeline);
  return from === undefined
    ? stagesOf(pipeline).flatMap((stage) => stageNeeds(db, stage))
    : pipelineNeeds(db, textOrEmpty(from), pipeline);
}

function outputOf(db: string, target: Value | undefined): Resource {
  if (!(target instanceof Map))
    return target === undefined ? databaseResource(db) : namespaceResource(db, textOrEmpty(target));
  return namespaceResource(textOrEmpty(target.get('db')) || db, textOrEmpty(target.get('coll')));
}
