import type { Doc, Value } from '../../bson/value.js';

/** The first fields of an oplog document: `op`, `ns`, `ui` for collections, `o`. */
export function fields(op: string, namespace: string, o: Value, uuid?: Value): Doc {
  const described: Doc = new Map<string, Value>([
    ['op', op],
    ['ns', namespace],
  ]);
  if (uuid !== undefined) described.set('ui', uuid);
  return described.set('o', o);
}
