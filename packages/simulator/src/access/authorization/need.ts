import { Binary } from 'bson';
import type { CommandRequest } from '../../node/command.js';
import { textOrEmpty } from '../../node/doc-fields.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import { clusterResource, databaseResource, namespaceResource, type Resource } from '../privilege/resource.js';

/** Actions that a command takes on a resource; all of them must be allowed. */
export interface Need {
  readonly resource: Resource;
  readonly actions: readonly string[];
  /** An action that does instead of all the others. */
  readonly orElse?: string;
  /** The collection of the resource's database that counts where a node knows it: a UUID stands for its namespace. */
  readonly uuid?: Binary;
  /** The collection that the needed action is about. */
  readonly ofReaders?: Resource;
}

/**
 * What a command needs of its caller: `open` nothing, `login` a login, otherwise privileges. The actions are those of
 * the manual ("Privilege Actions").
 */
export type Declaration = 'open' | 'login' | ((request: CommandRequest) => Need[]);

/** The collection in the command's first field. Its database when the field is no name. */
export function namedResource(request: CommandRequest): Resource {
  return namespaceResource(request.db, textOrEmpty(request.body.get(request.name)));
}

/** The collection in the command's first field, as `database.collection`. */
function fullyNamedResource(request: CommandRequest): Resource {
  return fullName(textOrEmpty(request.body.get(request.name)));
}

export function fullName(namespace: string): Resource {
  return namespaceResource(databaseOf(namespace), collectionOf(namespace));
}

export function onCluster(...actions: string[]): Declaration {
  return () => [{ resource: clusterResource, actions }];
}

export function onDatabase(...actions: string[]): Declaration {
  return ({ db }) => [{ resource: databaseResource(db), actions }];
}

/** On the collection of the first field. */
export function onNamed(...actions: string[]): Declaration {
  return (request) => [{ resource: namedResource(request), actions }];
}

/** On the collection in the first field. A UUID there needs an action of its own. */
export function onNamedOrUuid(...actions: string[]): Declaration {
  return (request) => {
    const named: Need = { resource: namedResource(request), actions };
    const target = request.body.get(request.name);
    if (typeof target === 'string') return [named];
    const resolved = target instanceof Binary ? { ...named, uuid: target } : named;
    return [{ resource: clusterResource, actions: ['useUUID'] }, resolved];
  };
}

/** On the collection in the first field, named with its database. */
export function onFullyNamed(...actions: string[]): Declaration {
  return (request) => [{ resource: fullyNamedResource(request), actions }];
}
