import type { AnswerOf } from '../../../../src/contract/console-api.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useManagedHistory } from '../../../queries/operate.ts'
import { Dialog } from '../../../ui/Dialog.tsx'
import { QueryView } from '../../../ui/QueryView.tsx'
import type { Item } from './managed-entry.ts'

type Version = AnswerOf<'GET /operate/managed/history'>['items'][number]

interface HistoryDialogProps {
  readonly item: Item
  readonly onClose: () => void
}

/** What an entry was, newest first; of a model also its prices. Secrets are not in it. */
export function HistoryDialog({ item: { kind, name }, onClose }: HistoryDialogProps) {
  const { managed } = useMessages()
  const query = useManagedHistory({ kind, name })
  return (
    <Dialog title={managed.historyOf(name)} open onClose={onClose} width="wide">
      <QueryView query={query}>
        {({ items }) => (
          <ol className="grid grid-cols-1 divide-y divide-line">
            {items.map((version) => (
              <VersionLine key={version.revision} version={version} />
            ))}
          </ol>
        )}
      </QueryView>
    </Dialog>
  )
}

function VersionLine({ version: { what, entry, from, created_at, created_by } }: { version: Version }) {
  const { history } = useMessages().managed
  const formats = useFormats()
  return (
    <li className="grid gap-1 py-2.5 text-sm">
      <p className="break-words text-soft" title={formats.utc(created_at)}>
        {history.saved(formats.time(created_at), created_by)}
        {Date.parse(from) > Date.parse(created_at) && ` ${history.later(formats.time(from))}`}
      </p>
      {entry === null ? (
        <p className="font-medium">{history.ended[what === 'price' ? 'price' : 'entry']}</p>
      ) : (
        <code className="text-xs wrap-anywhere">{JSON.stringify(what === 'price' ? { price: entry } : entry)}</code>
      )}
    </li>
  )
}
