import { TextField } from '../../ui/TextField.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { type KeyDraft, NAME_MAX, type WrongField } from './key-draft.ts'

export interface DraftProps {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  readonly wrong: readonly WrongField[]
}

export function NameField({ draft, onChange, wrong }: DraftProps) {
  const { keys } = useWords()
  return (
    <TextField
      label={keys.name}
      hint={keys.nameHint}
      error={wrong.includes('name') ? keys.nameWrong : undefined}
      data-autofocus
      required
      maxLength={NAME_MAX}
      value={draft.name}
      onText={(name) => onChange({ ...draft, name })}
    />
  )
}
