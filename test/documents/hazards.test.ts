import { describe, expect, test } from 'vitest';
import { documentPath, hazardsDocument } from '../sabotage/document.js';
import { hazards } from '../sabotage/hazards/all.js';
import { stalenessOf } from '../sabotage/staleness.js';
import { readText } from '../source-tree.js';

/** The hazards of the first design. */
const hazardsMin = 56;

describe('docs/internals/hazards.md', () => {
  test('has every hazard once, in order', () => {
    const numbers = hazards.map(({ number }) => number);
    expect(numbers.slice(0, hazardsMin)).toEqual(Array.from({ length: hazardsMin }, (_, index) => index + 1));
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  test('has a sabotage for each hazard, unless it says what is open', () => {
    expect(hazards.filter(({ sabotages, open }) => sabotages.length === 0 && open === undefined)).toEqual([]);
  });

  test('matches the sources and tests: every edited place exists once, every test exists', () => {
    const stale = hazards.flatMap(({ number, sabotages }) =>
      sabotages.flatMap((sabotage) =>
        stalenessOf(sabotage).map((reason) => `${number} ${sabotage.takesOut}: ${reason}`),
      ),
    );
    expect(stale).toEqual([]);
  });

  test('is generated from test/sabotage/hazards', () => {
    expect(readText(documentPath)).toBe(hazardsDocument(hazards));
  });
});
