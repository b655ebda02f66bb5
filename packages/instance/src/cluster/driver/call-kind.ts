import type { Document } from 'mongodb';

/** What cursors without a collection of their own have as its name: streams of a cluster, and statistics. */
const noCollection = '$cmd.aggregate';

/** A command and its namespace, for example `find of shop.orders`: what is slow once may be so again. */
export function kindOf(database: string, command: Document): string {
  const [name = ''] = Object.keys(command);
  const value: unknown = name === 'getMore' ? command.collection : command[name];
  if (value === noCollection || firstStage(command)?.$changeStream !== undefined) return `${name} of a change stream`;
  if (typeof value === 'string') return `${name} of ${database}.${value}`;
  const [stage] = Object.keys(firstStage(command) ?? {});
  return stage === undefined ? name : `${name} of ${stage}`;
}

function firstStage({ pipeline }: Document): Document | undefined {
  return Array.isArray(pipeline) ? (pipeline as Document[])[0] : undefined;
}
