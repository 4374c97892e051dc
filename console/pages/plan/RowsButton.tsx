import { ChevronDown, ChevronUp } from 'lucide-react'
import { Button } from '../../ui/Button.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

interface RowsButtonProps {
  readonly label: string
  readonly isOpen: boolean
  readonly onToggle: () => void
}

/** Opens and closes the rows that a bar is made of. */
export function RowsButton({ label, isOpen, onToggle }: RowsButtonProps) {
  const { plan } = useWords()
  const Icon = isOpen ? ChevronUp : ChevronDown
  return (
    <Button
      aria-expanded={isOpen}
      aria-label={`${isOpen ? plan.hideRows : plan.showRows}: ${label}`}
      onClick={onToggle}
    >
      <Icon aria-hidden="true" />
      {isOpen ? plan.hideRows : plan.showRows}
    </Button>
  )
}
