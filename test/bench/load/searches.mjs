/**
 * Forty searches over the words of `src/sandbox/seed/`: four scripts; words that many games have, few, and none; single
 * characters; several words. Absent ones are made of frequent pairs of characters, which an index of pairs takes for
 * candidates.
 */
export const searches = [
  ...['castle', 'legend', 'crimson', 'the', 'fantasy'].map((search) => ({ kind: 'common, en', search })),
  ...['伝説', 'どらごん', 'ファンタジー', '王国', 'の勇者'].map((search) => ({ kind: 'common, ja', search })),
  ...['传说', '王国', '的龙', '英雄传'].map((search) => ({ kind: 'common, zh', search })),
  ...['전설', '왕국', '의 용', '판타지'].map((search) => ({ kind: 'common, ko', search })),
  ...['galadia', 'mariarolis'].map((search) => ({ kind: 'rare, en', search })),
  ...['転生したら灯台の巫女だった件', '羅針盤と秘薬'].map((search) => ({ kind: 'rare, ja', search })),
  ...['关于道士在长安城养龙这件事', '关于侦探在咖啡馆迷路这件事'].map((search) => ({ kind: 'rare, zh', search })),
  ...['등대에서 길을 잃은', '카로디스'].map((search) => ({ kind: 'rare, ko', search })),
  ...['a', '龙', 'の', '의', 'q', '🐉'].map((search) => ({ kind: 'one character', search })),
  ...['the crimson castle', '王国 勇者 伝説', '龙 王国 最后', '왕국 전설 용'].map((search) => ({
    kind: 'three terms',
    search,
  })),
  ...['fantasylegend', 'の王国の勇者の伝説', '的王国的勇者的龙', '의왕국의전설'].map((search) => ({
    kind: 'absent',
    search,
  })),
];
