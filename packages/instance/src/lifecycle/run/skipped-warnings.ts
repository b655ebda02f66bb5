import type { Warning } from '@convoy/api/contract/progress';
import { nameSome } from '../../catalog/name-some.js';
import type { SkippedIndex } from '../../catalog/plan/skipped-index.js';

/** The warnings about indexes that the destination does not have as the source has them. */
export function skippedWarnings(skipped: readonly SkippedIndex[]): Warning[] {
  const absent = skipped.filter(({ outcome }) => outcome === 'absent');
  const plain = skipped.filter(({ outcome }) => outcome === 'notUnique');
  const unique = absent.filter((one) => one.unique);
  return [
    ...(absent.length === 0
      ? []
      : [
          {
            name: 'indexesSkipped',
            description:
              `The destination cannot build these indexes, and does not have them: ${named(absent)}.` +
              (unique.length === 0 ? '' : ` Nothing enforces the uniqueness of ${unique.length} of them.`),
          },
        ]),
    ...(plain.length === 0
      ? []
      : [
          {
            name: 'indexesNotUnique',
            description:
              `Documents violate these unique indexes, which are plain on the destination: ${named(plain)}. ` +
              'Nothing enforces their uniqueness after the commit.',
          },
        ]),
  ];
}

function named(skipped: readonly SkippedIndex[]): string {
  return nameSome(skipped.map(({ namespace, index, failure }) => `${index} of ${namespace} (${failure})`));
}
