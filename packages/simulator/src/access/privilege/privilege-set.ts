import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';
import { coveringKeys, readResource, type Resource, resourceDocument, resourceKey } from './resource.js';

/** Actions on a resource. */
export interface Privilege {
  readonly resource: Resource;
  /** Names of actions; `*` stands for all of them. */
  readonly actions: Iterable<string>;
}

const everyAction = '*';

/** The privileges of a user or role: each resource once, with its actions. */
export class PrivilegeSet {
  readonly #entries = new Map<string, { resource: Resource; actions: Set<string> }>();

  constructor(privileges: Iterable<Privilege> = []) {
    this.addAll(privileges);
  }

  add({ resource, actions }: Privilege): void {
    const key = resourceKey(resource);
    const present = this.#entries.get(key);
    const entry = present ?? { resource, actions: new Set<string>() };
    if (present === undefined) this.#entries.set(key, entry);
    for (const action of actions) entry.actions.add(action);
  }

  addAll(privileges: Iterable<Privilege>): void {
    for (const privilege of privileges) this.add(privilege);
  }

  get privileges(): Privilege[] {
    return [...this.#entries.values()];
  }

  /** True when a privilege on the target, or on a resource that contains it, has the action. */
  allows(target: Resource, action: string): boolean {
    return coveringKeys(target).some((key) => {
      const actions = this.#entries.get(key)?.actions;
      return actions !== undefined && (actions.has(action) || actions.has(everyAction));
    });
  }

  /** True when any privilege covers the target. */
  allowsAnything(target: Resource): boolean {
    return coveringKeys(target).some((key) => this.#entries.has(key));
  }

  /** True when any privilege covers a part of this database. */
  allowsAnythingIn(db: string): boolean {
    return [...this.#entries.values()].some(
      ({ resource }) =>
        resource.kind === 'any' || (resource.kind !== 'cluster' && (resource.db === '' || resource.db === db)),
    );
  }

  /** As clients see privileges. */
  toDocuments(): Doc[] {
    return [...this.#entries.values()].map(({ resource, actions }) =>
      doc(['resource', resourceDocument(resource)], ['actions', shownActions(actions)]),
    );
  }
}

/** The server lists actions by name, except for one that precedes its neighbour (corpus: 07-auth). */
const listedAs: ReadonlyMap<string, string> = new Map([['getDefaultRWConcern', 'getC']]);

function shownActions(actions: ReadonlySet<string>): string[] {
  const place = (action: string): string => listedAs.get(action) ?? action;
  return [...actions]
    .map((action) => (action === everyAction ? 'anyAction' : action))
    .sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

/** Privileges in the form of commands. @throws CommandError 9 for malformed ones */
export function readPrivileges(value: Value | undefined): Privilege[] {
  const list = Array.isArray(value) ? value : [];
  return list.map((each) => {
    const actions = each instanceof Map ? each.get('actions') : undefined;
    if (!(each instanceof Map) || !Array.isArray(actions))
      throw new CommandError(9, 'FailedToParse', 'privileges must have a resource and actions');
    const names = actions
      .filter((action) => typeof action === 'string')
      .map((action) => (action === 'anyAction' ? everyAction : action));
    return { resource: readResource(each.get('resource')), actions: names };
  });
}
