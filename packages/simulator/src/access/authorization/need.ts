import type { CommandRequest } from '../../node/command.js';
import { textOrEmpty } from '../../node/doc-fields.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import { clusterResource, databaseResource, namespaceResource, type Resource } from '../privilege/resource.js';

/** Actions that a command takes on a resource; all of them must be allowed. */
export interface Need {
  readonly resource: Resource;
  readonly actions: readonly string[];
  /** A collection that who may read it, and nobody else, needs this for. */
  readonly ofReaders?: Resource;
}

/**
 * What a command asks of its caller: `open` nothing, `login` somebody who is logged in, else privileges.
 * The actions are those the manual names ("Privilege Actions").
 */
export type Declaration = 'open' | 'login' | ((request: CommandRequest) => Need[]);

/** The collection that the command's first field names; its database when that is no name. */
export function namedResource(request: CommandRequest): Resource {
  return namespaceResource(request.db, textOrEmpty(request.body.get(request.name)));
}

/** The collection that the command's first field names in full, as `database.collection`. */
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

/** On the collection of the first field, which may be its UUID: that takes a right of its own. */
export function onNamedOrUuid(...actions: string[]): Declaration {
  return (request) => {
    const named: Need = { resource: namedResource(request), actions };
    return typeof request.body.get(request.name) === 'string'
      ? [named]
      : [{ resource: clusterResource, actions: ['useUUID'] }, named];
  };
}

/** On the collection that the first field names with its database. */
export function onFullyNamed(...actions: string[]): Declaration {
  return (request) => [{ resource: fullyNamedResource(request), actions }];
}
