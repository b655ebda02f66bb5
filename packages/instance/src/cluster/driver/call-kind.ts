import type { Document } from 'mongodb';

/** What cursors without a collection of their own have as its name: streams of a cluster, and statistics. */
const noCollection = '$cmd.aggregate';

/** A command and its namespace, for example `find of shop.orders`: what is slow once may be so again. */
export function kindOf(database: string, command: Document): string {
  const [name = ''] = Object.keys(command);
  const value: unknown = name === 'getMore' ? command.collection : command[name];
  if (value === noCollection || isChangeStream(command)) return `${name} of a change stream`;
  return typeof value === 'string' ? `${name} of ${database}.${value}` : name;
}

function isChangeStream({ pipeline }: Document): boolean {
  const first: Document | undefined = Array.isArray(pipeline) ? (pipeline as Document[])[0] : undefined;
  return first?.$changeStream !== undefined;
}
