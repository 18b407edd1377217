// The first figures, and what tests call by name.

update();

return {
  bestInterval, facts, fromHash, kokolis, mitigated, optimalInterval, outcome, planOf, poissonTail, posterior, renewal,
  rowsOf, synchronous, toHash, wallclockMoments, fixed, current: () => settings,
};
