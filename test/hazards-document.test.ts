import { describe, expect, test } from 'vitest';
import { documentPath, hazardsDocument } from './sabotage/document.js';
import { hazards } from './sabotage/hazards/all.js';
import { stalenessOf } from './sabotage/staleness.js';
import { readText } from './source-tree.js';

/** Those that the design began with. */
const hazardsMin = 56;

describe('the map of hazards', () => {
  test('has every hazard once, in order', () => {
    const numbers = hazards.map(({ number }) => number);
    expect(numbers.slice(0, hazardsMin)).toEqual(Array.from({ length: hazardsMin }, (_, index) => index + 1));
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  test('names for each what takes its handling out, unless it says what is open', () => {
    expect(hazards.filter(({ sabotages, open }) => sabotages.length === 0 && open === undefined)).toEqual([]);
  });

  test('fits the sources and tests: places to be edited are there once, tests exist', () => {
    const stale = hazards.flatMap(({ number, sabotages }) =>
      sabotages.flatMap((sabotage) =>
        stalenessOf(sabotage).map((reason) => `${number} ${sabotage.takesOut}: ${reason}`),
      ),
    );
    expect(stale).toEqual([]);
  });

  test('is what the document shows', () => {
    expect(readText(documentPath)).toBe(hazardsDocument(hazards));
  });
});
