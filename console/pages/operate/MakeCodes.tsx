import { useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import { MadeCodes } from './MadeCodes.tsx'
import { MakeCodesForm } from './MakeCodesForm.tsx'

export type Made = AnswerOf<'POST /operate/codes'>['items']

/** Makes codes and shows them this once: what is shown lives in here and is gone with it. */
export function MakeCodes({ onClose }: { onClose: () => void }) {
  const { codes } = useWords()
  const formats = useFormats()
  const [made, setMade] = useState<Made>()
  if (made === undefined) {
    return (
      <Dialog title={codes.makeTitle} open onClose={onClose}>
        <MakeCodesForm onClose={onClose} onMade={({ items }) => setMade(items)} />
      </Dialog>
    )
  }
  return (
    <Dialog title={formats.plural(made.length, codes.made)} open onClose={onClose} closing="by-button">
      <MadeCodes made={made} onClose={onClose} />
    </Dialog>
  )
}
