import type { HotDocument } from '@convoy/api/contract/hot-documents';
import type { Progress } from '@convoy/api/contract/progress';
import { countText } from './quantity.js';

const ways: Readonly<Record<HotDocument['appliedBy'], string>> = {
  folding: 'folded into one write of many',
  rereading: 're-read from the source',
};

/** What is known of a hot document, as a sentence. */
export function hotDocumentText({
  namespace,
  document,
  changesPerSecond,
  workerPercent,
  appliedBy,
}: HotDocument): string {
  return (
    `Hot document ${document} of ${namespace}: ${countText(changesPerSecond)} changes/s, ` +
    `${workerPercent} % of its apply worker, ${ways[appliedBy]}.`
  );
}

/** A sentence for each hot document. */
export function hotDocumentTexts({ hotDocuments }: Pick<Progress, 'hotDocuments'>): string[] {
  return (hotDocuments ?? []).map(hotDocumentText);
}
