/** How something stands; shown by a sign and a word too, never by colour alone. */
export type Tone = 'idle' | 'active' | 'good' | 'warning' | 'bad' | 'off';

/** A sign for who does not see the colour. */
export const toneSigns: Readonly<Record<Tone, string>> = {
  idle: '○',
  active: '▶',
  good: '✓',
  warning: '▲',
  bad: '✕',
  off: '◌',
};
