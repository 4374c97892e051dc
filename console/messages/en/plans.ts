export const plans = {
  about: 'What the configuration offers, and who is on it.',
  none: 'No plans',
  noneText: 'Plans are written in the configuration, under “plans”. Until then keys draw on wallets only.',
  windows: 'Windows',
  opens: 'Models it opens',
  opensNone: 'It opens no model: nothing in the catalogue matches.',
  patterns: 'Written as',
  accounts: { one: '# account', other: '# accounts' },
  more: (count: string) => `and ${count} more`,
} as const
