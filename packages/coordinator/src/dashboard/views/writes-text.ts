import type { Progress } from '@convoy/api/contract/progress';
import { countText } from './quantity.js';

/** Namespaces in the sentence; the others are summed up. */
const namedMax = 3;

/** Whether anybody writes to the source, as one sentence; empty before a start and after a commit. */
export function sourceWritesText({ state, sourceWrites }: Pick<Progress, 'state' | 'sourceWrites'>): string {
  if (state !== 'RUNNING' && state !== 'COMMITTING') return '';
  if (sourceWrites === null) return 'It is unknown whether anybody writes to the source.';
  const { windowSeconds, writes, namespaces } = sourceWrites;
  if (writes === 0) return `No write to the source in the last ${windowSeconds} s.`;
  const named = namespaces.slice(0, namedMax);
  const others = writes - named.reduce((sum, one) => sum + one.writes, 0);
  const parts = [
    ...named.map((one) => `${one.namespace} ${countText(one.writes)}`),
    ...(others > 0 ? [`others ${countText(others)}`] : []),
  ];
  return `${countText(writes)} writes to the source in the last ${windowSeconds} s: ${parts.join(', ')}.`;
}
