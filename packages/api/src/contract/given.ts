type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };

/** Members that have a value, without those that are undefined: optional members are given or absent. */
export function given<Members extends object>(members: Members): Given<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<Members>;
}
