import { useState } from 'react'
import type { AnswerOf, BodyOf } from '../../../../src/contract/console-api.ts'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { useSecretMutation } from '../../../queries/mutations.ts'
import { useManaged } from '../../../queries/operate.ts'
import { toast } from '../../../ui/toast.ts'

export type Item = AnswerOf<'GET /operate/managed'>['items'][number]
export type Shape = NonNullable<Item['entry']>

/** What a dialog of the page gets. Without an `item` it makes a new entry. */
export interface EntryDialogProps {
  readonly item?: Item | undefined
  /** All entries, with those of the file. */
  readonly items: readonly Item[]
  readonly onClose: () => void
}

export const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''

export const shapeOf = (value: unknown): Shape =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Shape) : {}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** `1.25 / 10`: input and output. */
export function priceText(price: unknown): string {
  const { input, output } = shapeOf(price)
  return input === undefined ? '' : `${textOf(input)} / ${textOf(output)}`
}

/** `a, b` and lines. */
export const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')

/** Why a new entry cannot have this name. */
export function useTakenText(items: readonly Item[]): (kind: Item['kind'], name: string) => string | undefined {
  const { managed } = useMessages()
  return (kind, name) => {
    const same = items.find((each) => each.kind === kind && each.name === name.trim())
    if (same === undefined) return undefined
    return same.file === null ? managed.taken : managed.takenByFile(same.file)
  }
}

/**
 * Sends a change. If someone else has made one since the dialog was opened, it is refused once; then the person has been told, and
 * decides.
 */
export function useManagedChange({ done, onDone }: { readonly done: string; readonly onDone: () => void }) {
  const query = useManaged()
  const [revision, setRevision] = useState(query.data?.revision)
  // A provider has a secret, which must not stay in memory.
  const mutation = useSecretMutation('POST /operate/managed', () => {
    toast({ tone: 'good', text: done })
    onDone()
  })
  const send = (change: BodyOf<'POST /operate/managed'>) =>
    mutation.mutate(
      { body: { ...change, ...(revision !== undefined && { revision }) } },
      {
        onError: ({ code }) => {
          if (code === 'managed_outdated') void query.refetch().then(({ data }) => setRevision(data?.revision))
        },
      },
    )
  return { mutation, send }
}
