/** A seed for one test; CONVOY_TEST_SEED repeats one. */
export function randomSeed(): number {
  const given = process.env['CONVOY_TEST_SEED'];
  return given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
}
