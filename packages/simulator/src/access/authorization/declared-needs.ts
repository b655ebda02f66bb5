import { docOrEmpty } from '../../node/doc-fields.js';
import { clusterNeeds } from './cluster-needs.js';
import { dataNeeds } from './data-needs.js';
import type { Declaration } from './need.js';
import { userNeeds } from './user-needs.js';

const plainNeeds: ReadonlyMap<string, Declaration> = new Map([...dataNeeds, ...clusterNeeds, ...userNeeds]);

/** `explain` needs what the explained command needs. */
const explainNeeds: Declaration = (request) => {
  const body = docOrEmpty(request.body.get('explain'));
  const name = body.keys().next().value ?? '';
  const needs = plainNeeds.get(name);
  return typeof needs === 'function' ? needs({ ...request, name, body, sequences: new Map() }) : [];
};

/** The needs of every command, by its name. */
export const declaredNeeds: ReadonlyMap<string, Declaration> = new Map([...plainNeeds, ['explain', explainNeeds]]);
