import { describe, expect, it } from 'vitest';
import { compareOutcomes } from '../../conformance/compare-outcomes.js';
import { askedBy, corpusFiles, isStep, nameOf, readCorpus, recordedOutcome } from '../../conformance/corpus-file.js';
import { recordedRoles } from '../../conformance/host-roles.js';
import { comparedLeaves } from '../../conformance/leaves.js';
import { testSeed } from '../../../../../test/seed.js';
import { perturbationKinds, perturbed, seededRandom } from '../../conformance/perturbation.js';

const sampledLeaves = 500;

const steps = corpusFiles.flatMap((file) => readCorpus(file).filter(isStep));

describe('comparison of outcomes', () => {
  it('finds every recorded outcome equal to itself', () => {
    for (const step of steps) {
      const outcome = recordedOutcome(step);
      expect(compareOutcomes(step, outcome, recordedRoles, outcome, recordedRoles), nameOf(step)).toEqual([]);
    }
  });

  it('finds each of 500 leaves that is changed alone', () => {
    const random = seededRandom(testSeed);
    const draw = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const unseen: string[] = [];
    for (let sampled = 0; sampled < sampledLeaves;) {
      const step = draw(steps);
      const outcome = recordedOutcome(step);
      const leaves = comparedLeaves(outcome, askedBy(step));
      if (leaves.length === 0) continue;
      sampled += 1;
      const leaf = draw(leaves);
      const kind = draw(perturbationKinds);
      const changed = perturbed(outcome, leaf, kind, askedBy(step), random);
      if (compareOutcomes(step, outcome, recordedRoles, changed, recordedRoles).length === 0)
        unseen.push(`${nameOf(step)} ${leaf.path} (${kind})`);
    }
    expect(unseen).toEqual([]);
  });
});
