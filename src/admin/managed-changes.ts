import { MANAGED_KINDS, managedKey } from '../contract/managed.ts'
import type { ManagedState, ManagedVersion } from './managed-state.ts'
import { isoTime } from './values.ts'

/** For the audit log: what each row changes, before and after, without secrets. The rows themselves keep the whole of it. */
export const describeChanges = (before: ManagedState, rows: readonly ManagedVersion[]): string =>
  rows.map((row) => `${row.kind} ${row.name} ${describeChange(before, row)}`).join('; ')

function describeChange({ newest, prices }: ManagedState, row: ManagedVersion): string {
  const { kind, name, entry, effective_from, created_at } = row
  const date = effective_from > created_at ? ` from ${isoTime(effective_from)}` : ''
  if (entry === null) return kind === 'price' ? `called off${date}` : 'retired'
  const own = MANAGED_KINDS.find((each) => each === kind)
  const former = own === undefined ? prices.get(name)?.at(-1) : newest.get(managedKey({ kind: own, name }))
  const listed = own === undefined ? newest.get(managedKey({ kind: 'model', name }))?.entry?.price : undefined
  const old = leavesOf(former?.entry ?? listed ?? {})
  const next = leavesOf(entry)
  const changed = [...new Set([...old.keys(), ...next.keys()])].filter((path) => old.get(path) !== next.get(path))
  const parts = changed.map((path) => `${path} ${old.get(path) ?? 'none'} → ${next.get(path) ?? 'none'}`)
  const secrets = row.sealed === null && former?.sealed == null ? [] : ['secrets saved']
  const isNew = own !== undefined && former?.entry == null
  return `${isNew ? 'created: ' : ''}${[...parts, ...secrets].join(', ') || 'saved'}${date}`
}

/** Every value by its path. */
function leavesOf(value: unknown, path = '', leaves = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null) return leaves.set(path, JSON.stringify(value) ?? 'none')
  for (const [key, child] of Object.entries(value)) leavesOf(child, path === '' ? key : `${path}.${key}`, leaves)
  return leaves
}
