import { equalValues } from '../../bson/compare.js';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { doc, docOf } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import type { RouterContext } from '../router-context.js';

/** Limit of the depth of views on views. */
const viewDepthMax = 20;

/** The definition of a view: the stages over a collection. */
interface ResolvedView {
  readonly namespace: string;
  readonly stages: readonly Doc[];
  /** The collation of the view. The simple one if it was created without. */
  readonly collation: Doc;
}

/** The collection under a view, through other views. Undefined when the name is no view. */
export function resolveView(context: RouterContext, namespace: string): ResolvedView | undefined {
  let resolved: { namespace: string; stages: Doc[]; collation: Doc } | undefined;
  for (let depth = 0; depth < viewDepthMax; depth += 1) {
    const at = resolved?.namespace ?? namespace;
    if (context.catalog.collection(at) !== undefined) break;
    const view = context.primaryOf(at)?.stored.view(at);
    if (view === undefined) break;
    const own = view.pipeline.filter((stage) => stage instanceof Map);
    resolved = {
      namespace: `${databaseOf(at)}.${view.viewOn}`,
      stages: [...own, ...(resolved?.stages ?? [])],
      collation: resolved?.collation ?? ownCollation(view),
    };
  }
  return resolved;
}

function ownCollation(view: { readonly options: Doc }): Doc {
  return docOf(view.options.get('collation')) ?? doc(['locale', 'simple']);
}

/** The body of a read of a view, with the view's collation. @throws CommandError 167 for another collation */
export function withViewCollation(body: Doc, { collation }: ResolvedView): Doc {
  const asked = docOf(body.get('collation'));
  if (asked !== undefined && [...asked].some(([name, value]) => !equalValues(value, collation.get(name) ?? null))) {
    throw new CommandError(167, 'OptionNotSupportedOnView', "Cannot override a view's default collation");
  }
  return new Map(body).set('collation', collation);
}

/** The same, for views that one shard cannot answer alone, because their collection is sharded or was moved. */
export function resolveShardedView(context: RouterContext, namespace: string): ResolvedView | undefined {
  if (context.routing.collection(namespace) !== undefined) return undefined;
  const resolved = resolveView(context, namespace);
  const base = resolved?.namespace ?? '';
  const isElsewhere = context.catalog.collection(base) !== undefined || context.catalog.movedTo(base) !== undefined;
  return isElsewhere ? resolved : undefined;
}
