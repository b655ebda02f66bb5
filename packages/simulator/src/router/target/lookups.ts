import type { Doc } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { doc } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

/** A command of a router. */
export type Command = (context: RouterContext, request: CommandRequest) => Doc | Promise<Doc>;

/** `flushRouterConfig`: of everything, of a database or of a collection. */
export function flushRouting({ routing }: RouterContext, { name, body }: CommandRequest): Doc {
  const flushed = body.get(name);
  if (typeof flushed !== 'string') routing.clear();
  else if (flushed.includes('.')) routing.forget(flushed);
  else routing.forgetDatabase(flushed);
  return doc(['flushed', true]);
}

/** A command on a database, after which the router looks up anew what is in it, even where the command fails. */
export function onDatabase(command: Command): Command {
  return async (context, request) => {
    try {
      return await command(context, request);
    } finally {
      const database = request.body.get(request.name);
      if (typeof database === 'string') context.routing.forgetDatabase(database);
    }
  };
}

/**
 * A command on a collection, after which the router knows what it has looked up for it.
 * @param refreshes whether shards refuse it when the router knows an old state of a sharded collection, so that it
 * refreshes
 */
export function lookingUp(command: Command, { refreshes }: { refreshes: boolean }): Command {
  return (context, request) => {
    const collection = request.body.get(request.name);
    if (typeof collection === 'string') {
      const namespace = `${request.db}.${collection}`;
      const known = context.routing.collection(namespace);
      if (refreshes && known !== undefined) context.routing.forget(namespace);
      context.routing.collection(namespace);
    }
    return command(context, request);
  };
}
