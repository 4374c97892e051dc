import type { JsonMember } from '../../model/turn.ts'
import type { FieldTable } from './field-rule.ts'

/** Neither ours to decide on nor known to go everywhere: whether the provider gets it is the lane's business. */
const isOptional = (name: string, table: FieldTable): boolean =>
  !Object.hasOwn(table, name) || table[name]?.policy === 'ignored'

/** The fields of a body that go to a provider only where somebody says so. */
export function optionalNames(members: readonly JsonMember[], table: FieldTable): string[] {
  const names: string[] = []
  for (const { name } of members) if (isOptional(name, table)) names.push(name)
  return names
}
