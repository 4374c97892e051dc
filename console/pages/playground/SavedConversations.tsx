import { History, Plus, Save, Trash2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { fetchQuery } from '../../lib/api-client.ts'
import { asProblem, saidProblem } from '../../lib/console-problem.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useConversations } from '../../queries/account.ts'
import { useApiMutation } from '../../queries/mutations.ts'
import { Button, IconButton } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { toast } from '../../ui/toast.ts'
import { Time } from '../../ui/values.tsx'
import { readSaved, type SavedState, titleOf, writeSaved } from './saved.ts'

interface SavedConversationsProps {
  readonly state: SavedState
  readonly running: boolean
  readonly onLoad: (state: SavedState) => void
  readonly onNew: () => void
}

/** Saves the conversation, from then on after every answer, and lists the saved ones of this person. */
export function SavedConversations({ state, running, onLoad, onNew }: SavedConversationsProps) {
  const { playground } = useMessages()
  const [open, setOpen] = useState(false)
  const query = useConversations()
  const { id, save, isSaving, setId } = useSaving(state, running)
  const load = async (conversation: string) => {
    try {
      const { content } = await fetchQuery('GET /conversations/:conversation', { params: { conversation } })
      const saved = readSaved(content)
      if (saved === undefined) return toast({ tone: 'bad', problem: saidProblem(playground.savedUnreadable) })
      setOpen(false)
      onLoad(saved)
      setId(conversation, saved.histories)
    } catch (error) {
      toast({ tone: 'bad', problem: asProblem(error) })
    }
  }
  const isBlank = state.histories.every((history) => history.length === 0)
  return (
    <>
      {query.data?.keeps === true && (
        <>
          <Button onClick={() => setOpen(true)}>
            <History aria-hidden="true" />
            {playground.saved}
          </Button>
          <Button disabled={isBlank || running || id !== undefined} busy={isSaving} onClick={save}>
            <Save aria-hidden="true" />
            {id === undefined ? playground.save : playground.isSaved}
          </Button>
        </>
      )}
      <Button
        disabled={isBlank && !running}
        onClick={() => {
          setId(undefined, [])
          onNew()
        }}
      >
        <Plus aria-hidden="true" />
        {playground.clear}
      </Button>
      <Dialog title={playground.savedTitle} open={open} onClose={() => setOpen(false)}>
        <QueryView query={query}>
          {({ items }) => (
            <SavedList
              items={items}
              onLoad={(conversation) => void load(conversation)}
              onDeleted={(conversation) => {
                if (conversation === id) setId(undefined, [])
              }}
            />
          )}
        </QueryView>
      </Dialog>
    </>
  )
}

interface SavedListProps {
  readonly items: readonly { readonly id: string; readonly title: string; readonly saved_at: string }[]
  readonly onLoad: (conversation: string) => void
  readonly onDeleted: (conversation: string) => void
}

function SavedList({ items, onLoad, onDeleted }: SavedListProps) {
  const { playground } = useMessages()
  const formats = useFormats()
  const remove = useApiMutation('DELETE /conversations/:conversation', { done: playground.savedDeleted })
  return (
    <div className="grid gap-3">
      <p className="text-sm text-soft">{playground.savedText}</p>
      {items.length === 0 ? (
        <p className="py-4 text-center text-soft">{playground.savedNone}</p>
      ) : (
        <>
          <ul className="divide-y divide-line rounded-lg border border-line">
            {items.map(({ id, title, saved_at }) => (
              <li key={id} className="flex items-center gap-2 pe-1">
                <button
                  type="button"
                  onClick={() => onLoad(id)}
                  className="grid min-w-0 flex-1 gap-0.5 px-3 py-2 text-start hover:bg-hover"
                >
                  <span className="truncate font-medium">{title}</span>
                  <span className="text-xs text-faint">
                    <Time at={saved_at} />
                  </span>
                </button>
                <IconButton
                  icon={Trash2}
                  label={playground.savedDelete(title)}
                  onClick={() => remove.mutate({ params: { conversation: id } }, { onSuccess: () => onDeleted(id) })}
                />
              </li>
            ))}
          </ul>
          <p className="text-xs text-faint">{formats.plural(items.length, playground.savedCount)}</p>
        </>
      )}
    </div>
  )
}

/** Saves once by the button, and then whenever an answer has ended. */
function useSaving(state: SavedState, running: boolean) {
  const { playground } = useMessages()
  const [id, setSavedId] = useState<string>()
  const written = useRef<SavedState['histories']>([])
  const create = useApiMutation('POST /conversations', { done: playground.saveDone })
  const replace = useApiMutation('PUT /conversations/:conversation')
  const bodyOf = () => {
    const content = writeSaved(state)
    if (content === undefined) toast({ tone: 'bad', problem: saidProblem(playground.saveTooLong) })
    return content === undefined ? undefined : { title: titleOf(state.histories) || playground.untitled, content }
  }
  const isSame = state.histories.every((history, side) => history === written.current[side])
  useEffect(() => {
    if (id === undefined || running || isSame || state.histories.every((history) => history.length === 0)) return
    written.current = state.histories
    const body = bodyOf()
    if (body !== undefined) replace.mutate({ params: { conversation: id }, body })
  })
  return {
    id,
    isSaving: create.isPending,
    save: () => {
      const body = bodyOf()
      if (body === undefined) return
      written.current = state.histories
      create.mutate({ body }, { onSuccess: (saved) => setSavedId(saved.id) })
    },
    setId: (saved: string | undefined, histories: SavedState['histories']) => {
      written.current = histories
      setSavedId(saved)
    },
  }
}
