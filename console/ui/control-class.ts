/** How everything looks that can be filled in. */
export const controlClass =
  'min-h-9 w-full min-w-0 rounded-md border border-edge/70 bg-surface px-2.5 py-1.5 text-ink placeholder:text-faint hover:border-edge focus-visible:border-accent focus-visible:outline-1 focus-visible:outline-offset-0 aria-invalid:border-bad disabled:cursor-not-allowed disabled:bg-sunken disabled:text-faint'
