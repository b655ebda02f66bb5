/** Status of an item; a sign and a word always accompany the colour. */
export type Tone = 'idle' | 'active' | 'good' | 'warning' | 'bad' | 'off';

/** A sign for each tone, so that nothing depends on colour. */
export const toneSigns: Readonly<Record<Tone, string>> = {
  idle: '○',
  active: '▶',
  good: '✓',
  warning: '▲',
  bad: '✕',
  off: '◌',
};
