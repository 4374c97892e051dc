import { stringify } from 'yaml'
import { MANAGED_LISTS, type ManagedList, type ManagedShape } from '../contract/managed.ts'
import { exportedEntries, type ManagedServices } from './managed.ts'
import { done } from './outcome.ts'

type Exported = Awaited<ReturnType<typeof exportedEntries>>[number]

/** The managed entries as a part of the configuration file. Put there, it gives the same configuration. */
export async function exportManaged(services: Omit<ManagedServices, 'auditLog'>) {
  const entries = await exportedEntries(services)
  return done({
    yaml: managedYaml(entries),
    variables: entries.flatMap(({ entry, secrets }) => variablesOf(entry, secrets)),
  })
}

export function managedYaml(entries: readonly Exported[]): string {
  const variables = entries.flatMap(({ entry, secrets }) => variablesOf(entry, secrets))
  const lines = ['# What operators manage beside the configuration file.']
  if (variables.length > 0) lines.push(`# Secrets are not exported. Set these variables: ${variables.join(', ')}`)
  for (const list of Object.keys(MANAGED_LISTS) as ManagedList[]) {
    const items = entries.filter((each) => each.list === list)
    if (items.length > 0) lines.push(`${list}:`, ...items.flatMap(itemLines))
  }
  return `${lines.join('\n')}\n`
}

function itemLines({ entry, secrets, announced }: Exported): string[] {
  const text = stringify([{ ...(escaped(entry) as ManagedShape), ...placeholders(entry, secrets) }], { lineWidth: 0 })
  // JSON has no line breaks outside of its texts.
  const notes = announced.map(
    ({ from, price }) => `# ${JSON.stringify(entry.id)} has another price from ${from} on: ${JSON.stringify(price)}`,
  )
  return [...notes, ...text.trimEnd().split('\n')].map((line) => `  ${line}`)
}

/** The file replaces `${…}`; an entry has it as it is. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${')
  if (Array.isArray(value)) return value.map(escaped)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, escaped(child)]))
}

function placeholders(entry: ManagedShape, secrets: readonly string[]) {
  const headers = secrets.filter((name) => name.startsWith(HEADER))
  return {
    ...(secrets.includes('api_key') && { api_key: `\${${variableOf(entry, 'api_key')}}` }),
    ...(headers.length > 0 && {
      headers: Object.fromEntries(
        headers.map((name) => [name.slice(HEADER.length), `\${${variableOf(entry, name.slice(HEADER.length))}}`]),
      ),
    }),
  }
}

const HEADER = 'headers.'

const variablesOf = (entry: ManagedShape, secrets: readonly string[]): string[] =>
  secrets.map((name) => variableOf(entry, name.replace(HEADER, '')))

/** `OPENAI_API_KEY` for the api_key of openai. */
const variableOf = ({ id }: ManagedShape, secret: string): string =>
  `${String(id)}_${secret}`
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '_')
    .replace(/^(?=\d)/, '_')
