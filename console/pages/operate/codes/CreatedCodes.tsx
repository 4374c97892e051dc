import { Download } from 'lucide-react'
import { saveFile } from '../../../lib/save-file.ts'
import { Button } from '../../../ui/Button.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { DialogActions } from '../../../ui/Dialog.tsx'
import { Money } from '../../../ui/Money.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import type { Made } from './CreateCodesDialog.tsx'

/** The codes, this once: to be copied one by one, all together, or taken away as a file. */
export function CreatedCodes({ made, onClose }: { made: Made; onClose: () => void }) {
  const { codes } = useMessages()
  const text = made.map(({ secret }) => `${secret}\n`).join('')
  // Made here: the secrets do not travel a second time.
  const save = () => saveFile(new File([text], codes.fileName, { type: 'text/plain' }))
  return (
    <div className="grid grid-cols-1 gap-4">
      <p className="text-soft">{codes.madeText}</p>
      <ul className="max-h-80 divide-y divide-line overflow-y-auto rounded-lg border border-line bg-sunken">
        {made.map(({ code, secret }) => (
          <li key={code.id} className="flex items-center gap-2 ps-3 pe-1">
            <code className="min-w-0 flex-1 py-1 break-all select-all">{secret}</code>
            <span className="text-sm text-soft">
              <Money amount={code.amount} />
            </span>
            <CopyButton text={secret} />
          </li>
        ))}
      </ul>
      <DialogActions>
        <Button onClick={save}>
          <Download aria-hidden="true" />
          {codes.download}
        </Button>
        <CopyButton text={text} label={codes.copyAll} look="button" />
        <Button tone="primary" onClick={onClose}>
          {codes.stored}
        </Button>
      </DialogActions>
    </div>
  )
}
